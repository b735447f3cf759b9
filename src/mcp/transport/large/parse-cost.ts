// Guesses how long `JSON.parse` will take, in far less time than that, so that no message holds everything else up.
import { isAscii } from "node:buffer";

/** Measured on Node 20, rounded up. Containers are what makes JSON slow: `[[[[…` takes 160 ns for each. */
const NS_PER_CONTAINER = 160;
const NS_PER_VALUE = 20;
const NS_PER_STRING = 60;
const NS_PER_ASCII_BYTE = 2;
const NS_PER_OTHER_BYTE = 8;

/** True when parsing these bytes is likely to take less than `maxMs`. Strings are jumped over, so long ones cost nothing. */
export function isQuicklyParsed(bytes: Buffer, maxMs: number): boolean {
  const budget = maxMs * 1_000_000;
  let cost = bytes.length * (isAscii(bytes) ? NS_PER_ASCII_BYTE : NS_PER_OTHER_BYTE);
  for (let at = 0; at < bytes.length && cost <= budget; at++) {
    switch (bytes[at]) {
      case 0x22:
        at = closingQuote(bytes, at + 1);
        cost += NS_PER_STRING;
        break;
      case 0x5b:
      case 0x7b:
        cost += NS_PER_CONTAINER;
        break;
      case 0x2c:
        cost += NS_PER_VALUE;
        break;
      default:
    }
  }
  return cost <= budget;
}

function closingQuote(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(0x22, from); quote !== -1; quote = bytes.indexOf(0x22, quote + 1)) {
    let slashes = 0;
    while (bytes[quote - 1 - slashes] === 0x5c) slashes++;
    if (slashes % 2 === 0) return quote;
  }
  return bytes.length;
}
