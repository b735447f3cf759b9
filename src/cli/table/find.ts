// Which entry of the table the words mean, and which words are left for it.
import { nearest } from "../../base/text/nearest.js";
import type { Command, Group, TableEntry } from "./command.js";
import { misused } from "./parse.js";

export interface Found {
  /** From the outside in: a group, then its command. Empty: none is named. */
  readonly path: readonly TableEntry[];
  readonly rest: readonly string[];
}

/** Throws `usage.invalid` for a word that names nothing. Words that begin with "-" name nothing and stay. */
export function findEntry(table: readonly TableEntry[], words: readonly string[]): Found {
  const [first, ...rest] = words;
  if (first === undefined || first.startsWith("-")) return { path: [], rest: words };
  const entry = named(table, first, "tenon");
  if (entry.kind === "command") return { path: [entry], rest };
  const [second, ...more] = rest;
  if (second === undefined || second.startsWith("-")) return { path: [entry], rest };
  return { path: [entry, named(entry.commands, second, `tenon ${entry.name}`)], rest: more };
}

/** The command to run; a group's own one where none is named. Throws `usage.invalid` where there is no such. */
export function commandOf({ path }: Found): Command {
  const entry = path.at(-1);
  if (!entry) throw misused("say what to do");
  return entry.kind === "command" ? entry : fallbackOf(entry);
}

function fallbackOf({ commands, fallback, name }: Group): Command {
  const found = commands.find((one) => one.name === fallback);
  if (found) return found;
  throw misused(`say what to do: tenon ${name} ${commands.map((one) => one.name).join("|")}`);
}

function named<E extends TableEntry>(entries: readonly E[], word: string, before: string): E {
  const found = entries.find(({ name }) => name === word);
  if (found) return found;
  const known = entries.map(({ name }) => name);
  const near = nearest(word, known);
  const meant = near === undefined ? `; there is ${known.join(", ")}` : `; did you mean ${before} ${near}?`;
  throw misused(`there is no command ${JSON.stringify(`${before} ${word}`)}${meant}`);
}
