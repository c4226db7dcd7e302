package config

// notifyText is what CONFIG.md says of notify beside its keys.
const notifyText = `
The scheme of the URL says the kind; a URL of a vendor's own host may also be taken as the vendor shows it, beginning with ` + "`https://`" + `.
The URL is a secret as a whole: output names its kind and host and no more.

| kind | how its URL is written |
|---|---|
| Slack, and what takes its form (Mattermost, Rocket.Chat) | ` + "`https://hooks.slack.com/services/…`, `slack://HOST/PATH`" + ` |
| DingTalk robot, signed when it has a secret | ` + "`https://oapi.dingtalk.com/robot/send?access_token=…&secret=SEC…`, `dingtalk://HOST/PATH?…`" + ` |
| WeCom robot | ` + "`https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…`, `wecom://HOST/PATH?key=…`" + ` |
| Feishu and Lark robot, signed when it has a secret | ` + "`https://open.feishu.cn/open-apis/bot/v2/hook/…?secret=…`, `feishu://HOST/PATH?secret=…`" + ` |
| mail, by STARTTLS, port 587 | ` + "`smtp://USER:PASSWORD@HOST:PORT?from=ADDRESS&to=ADDRESS,ADDRESS`" + ` |
| mail, by TLS from the first byte, port 465 | ` + "`smtps://USER:PASSWORD@HOST:PORT?from=ADDRESS&to=ADDRESS`" + ` |
| webhook | ` + "`https://USER:PASSWORD@HOST/PATH`" + `, sent as basic authentication |

` + "`slack:`, `dingtalk:`, `wecom:` and `feishu:`" + ` mean https, and plain http to this machine or with ` + "`insecure: true`" + `. A user name or password
in a URL is percent-encoded: @ is %40, / is %2F, & is %26. ` + "`secret=`" + ` is never sent, it signs. To a mail server on this machine STARTTLS is spoken if
that offers it; everywhere else it is needed. An HTTP proxy is taken from HTTPS_PROXY and NO_PROXY. Redirects are not followed.

A webhook is posted ` + "`{\"node\", \"at\", \"title\", \"text\", \"topics\": [], \"lines\": [], \"dropped\"}`" + ` as JSON: the title is all of it on one line, text on several, lines
are the text without its title, dropped is how many messages before this one never arrived. A template gets the same as
` + "`.Node .At .Title .Text .Topics .Lines .Dropped`" + `, each text escaped for the inside of a JSON string, with calls (@all) and links
broken by a character without width, as a chat room may get it, and has to make JSON, which is tried out when the config is read:
` + "`template: '{\"summary\": \"{{.Title}}\", \"details\": \"{{.Text}}\"}'`" + `.

What happens is collected until nothing more did for 10s, a minute at most, and is one message, however many targets it is about: what went
down by cause, what is up again with how long it was down and what was written meanwhile, what was written. There are at most 12 messages in
ten minutes, and what comes beside them waits for the next. Per entry 32 messages wait for an hour at most while the other side does not take them,
also over a restart; a message that was dropped is counted, in the log and in the next one that arrives. No failover waits for any of this.

A site or a record set that waits for a person's yes is told of once (guard), with the command that says it, and so is the end of that: who approved, or that no yes is
needed any more, and after how long.

The node that leads says it. A standby keeps what it sees, and when it takes over says what is less than five minutes old again, since the node before
may not have come to it. While no node is known to lead, every node speaks for itself. With ` + "`--read-only`" + ` a node speaks, and says that it is read-only.
An override that is there for a day is told of each day (override-old), and a freeze an hour after nothing is down any more
of what was down under it. One-shot commands tell nobody.
`

// pingText is what CONFIG.md says of ping beside its keys.
const pingText = `
A service that raises the alarm when it is no longer called, such as healthchecks.io, tells of what sidestep cannot: that it is dead. Each call is made only after
the loop that decides has answered, so that a daemon that hangs is not vouched for.
`
