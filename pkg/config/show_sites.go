package config

import "sidestep/pkg/scenario"

// showSites writes the sites; nil when there are none.
func showSites(sites []scenario.Site, vantages Vantages) any {
	if len(sites) == 0 {
		return nil
	}
	all := shown{}
	for _, site := range sites {
		signals := shown{}
		for _, signal := range site.Signals {
			signals = signals.with(signal.Name, shown{
				{"check", signal.Check}, {"targets", signal.Targets}, {"need", signal.Need},
				{"vantages", showVantages(vantages.Signals[signalKey(site.Name, signal.Name)])},
			})
		}
		one := shown{{"signals", signals}}
		if r := site.Return; r.Mode != "" {
			one = one.with("return", shown{{"after_outage", r.AfterOutage}, {"mode", string(r.Mode)}, {"check", some(r.Check)}})
		}
		all = all.with(site.Name, one.with("maintenance", some(site.Maintenance)))
	}
	return all
}

// showScenarios writes the scenarios, each as groups; nil when there are none.
func showScenarios(scenarios []scenario.Scenario) any {
	if len(scenarios) == 0 {
		return nil
	}
	all := shown{}
	for _, s := range scenarios {
		groups := []shown{}
		for _, group := range s.Any {
			terms := []string{}
			for _, term := range group {
				terms = append(terms, term.String())
			}
			groups = append(groups, shown{{"all", terms}})
		}
		all = all.with(s.Name, shown{{"any", groups}})
	}
	return all
}
