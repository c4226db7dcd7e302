// The API of the daemon: requests, the token, and the stream of events.

const kept = "sidestep-token"; // in the session storage of this tab, and nowhere else

// Refused is a no from the daemon, in its words.
export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? "the daemon answered " + status);
    this.status = status;
    this.hint = error?.hint ?? "";
  }
}

// A link may carry the token behind #, which browsers send to nobody.
export function takeTokenFromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  try {
    keepToken(decodeURIComponent(found[1]));
  } catch {
    // not a token of ours: it is asked for when it is needed
  }
  history.replaceState(null, "", location.pathname + location.search);
}

export function keepToken(token) {
  sessionStorage.setItem(kept, token);
}

export function hasToken() {
  return sessionStorage.getItem(kept) !== null;
}

export function forgetToken() {
  sessionStorage.removeItem(kept);
}

let skew = 0; // of the daemon's clock against this one, in milliseconds

// now is the time by the daemon's clock, as its answers tell it.
export function now() {
  return Date.now() + skew;
}

function learnSkew(response) {
  const told = Date.parse(response.headers.get("Date") ?? "");
  const off = told - Date.now();
  if (Number.isFinite(off)) skew = Math.abs(off) < 2000 ? 0 : off;
}

const answerWithin = 15000;

async function send(path, options) {
  const headers = { Accept: options.accept ?? "application/json" };
  const token = sessionStorage.getItem(kept);
  if (token !== null) headers.Authorization = "Bearer " + token;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch("api/v1/" + path, {
    method: options.body === undefined ? "GET" : "POST",
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    headers, cache: "no-store", credentials: "omit", redirect: "error", signal: options.signal,
  });
  learnSkew(response);
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  throw new Refused(response.status, answer?.error);
}

// ask reads something, or, with a body, says something.
export async function ask(path, body) {
  const response = await send(path, { body, signal: AbortSignal.timeout(answerWithin) });
  return response.json();
}

// follow calls heard for each event of the stream, until that ends. It is no
// EventSource, because that cannot send a token.
export async function follow(opened, heard, signal) {
  const response = await send("events", { accept: "text/event-stream", signal });
  if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) throw new Refused(404);
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) if (/^(data|event):/m.test(block)) heard(block);
  }
}
