// Times of day.

import { now } from "./api.js";

// clock is a time by this browser's clock, with its day when that is another.
export function clock(at) {
  const time = new Date(at);
  const pad = (n) => String(n).padStart(2, "0");
  const text = [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(":");
  if (time.toDateString() === new Date(now()).toDateString()) return text;
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${text}`;
}

const utcTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

// localTimes is a text of the daemon, which tells times in UTC, by this browser's
// clock, as the commands print it.
export function localTimes(text) {
  return text.replace(utcTime, (time) => (Number.isNaN(Date.parse(time)) ? time : clock(time)));
}
