// What `tenon mcp import` found, would do and did, for people and for programs, secrets masked.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import {
  type Edited,
  type ImportAction,
  maskEntry,
  type PlannedFile,
  type PlannedServer,
  problemText,
  type SecretWay,
} from "../../config/index.js";
import type { CommandContext } from "../configuration/context.js";
import { placeJson, problemJson } from "../configuration/server-report.js";
import type { Palette } from "../terminal/palette.js";
import { renderTable } from "../terminal/table.js";
import { visibleLine } from "../terminal/visible.js";

/** What became of one that was to be copied. */
export type DoneServer =
  | { readonly change: Edited["change"]; readonly error?: undefined }
  | { readonly error: string; readonly change?: undefined };

export interface ReportFacts {
  readonly target: string;
  /** Nothing was written. */
  readonly isDry: boolean;
  /** Nothing was asked for but a look. */
  readonly isListing: boolean;
  readonly secrets: SecretWay;
  readonly done: ReadonlyMap<PlannedServer, DoneServer>;
}

type Style = Pick<CommandContext, "columns" | "palette">;

const MARKS: Readonly<Record<ImportAction, { readonly sign: string; readonly style: keyof Palette }>> = {
  add: { sign: "+", style: "green" },
  replace: { sign: "+", style: "yellow" },
  same: { sign: "=", style: "dim" },
  conflict: { sign: "!", style: "yellow" },
  cannot: { sign: "✗", style: "red" },
  skip: { sign: "–", style: "dim" },
};

export function fileLines(file: PlannedFile, facts: ReportFacts, { columns, palette }: Style): readonly string[] {
  const rows = file.servers.map((server) => [
    visibleLine(server.name),
    outcome(server, facts),
    visibleLine(reachedBy(server)),
  ]);
  const whose = file.owner === "project" ? " (this project's)" : "";
  return [
    `${palette.bold(file.label)}${whose}  ${palette.dim(visibleLine(file.file))}`,
    ...file.problems.map((problem) => `  ${palette.red(`✗ ${visibleLine(problemText(problem))}`)}`),
    ...(file.servers.length === 0 && file.problems.length === 0 ? [palette.dim("  no servers")] : []),
    ...renderTable(rows, { columns: columns - 4 }).flatMap((row, at) => {
      const server = file.servers[at];
      if (!server) return [];
      const { sign, style } = facts.done.get(server)?.error === undefined ? MARKS[server.action] : MARKS.cannot;
      return [
        `  ${palette[style](sign)} ${row}`,
        ...detailsOf(server, facts).map((line) => `      ${palette.dim(visibleLine(line))}`),
      ];
    }),
  ];
}

/** `add` before it is done, `added` after. */
function outcome(server: PlannedServer, { done }: ReportFacts): string {
  const made = done.get(server);
  return made === undefined ? server.action : (made.change ?? "failed");
}

function detailsOf(server: PlannedServer, facts: ReportFacts): readonly string[] {
  const { reason, notes, secrets } = server;
  const error = facts.done.get(server)?.error;
  const isCopied = server.action === "add" || server.action === "replace";
  return [
    ...(error === undefined ? [] : [error]),
    ...(reason === undefined ? [] : [reason]),
    ...(isCopied ? notes : []),
    ...(isCopied ? secrets.map(({ key, name, variable }) => secretText(`${key}.${name}`, variable, facts)) : []),
  ];
}

function secretText(what: string, variable: string, { secrets, isDry }: ReportFacts): string {
  switch (secrets) {
    case "file":
      return `${what} looks like a secret, and ${isDry ? "would stand" : "stands"} in the file as it is: see --secrets keyring|env`;
    case "keyring":
      return `${what} looks like a secret: ${isDry ? "it would go" : "it went"} into your keyring`;
    case "env":
      return `${what} looks like a secret: set the variable ${variable} to it`;
  }
}

function reachedBy({ entry }: PlannedServer): string {
  if (entry === undefined) return "";
  const { command, args, url } = maskEntry(entry);
  if (typeof url === "string") return url;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  return words.map((word) => (/^[^\s"'\\]+$/u.test(word) ? word : JSON.stringify(word))).join(" ");
}

export function summaryLines(plan: readonly PlannedFile[], facts: ReportFacts, { palette }: Style): readonly string[] {
  const { isDry, isListing, target, done } = facts;
  const servers = plan.flatMap(({ servers: found }) => found);
  if (plan.length === 0)
    return ["No files of other clients here. tenon mcp add <name> -- command args… adds a server."];
  const count = (...actions: readonly ImportAction[]) =>
    servers.filter(({ action }) => actions.includes(action)).length;
  const copied = [...done.values()].filter(({ error }) => error === undefined).length;
  const amount = isDry ? count("add", "replace") : copied;
  const rest = [
    `${count("same")} there already`,
    `${count("conflict")} in conflict`,
    `${count("cannot", "skip")} not for Tenon`,
  ];
  const line = `${amount} ${isDry ? "would be copied" : "copied"} to ${visibleLine(target)}, ${rest.join(", ")}.`;
  const clients = [...new Set(plan.map(({ client }) => client))];
  const next = isListing
    ? [
        `tenon mcp import --from ${clients.join(",")} copies them; "import": ${JSON.stringify(clients)} in your config.json uses them as they are.`,
      ]
    : [];
  return [line, ...next.map((text) => palette.dim(text))];
}

export function fileJson(file: PlannedFile, facts: ReportFacts): JsonObject {
  const { client, file: path, owner, problems, servers } = file;
  return {
    client,
    file: path,
    owner,
    problems: problems.map(problemJson),
    servers: servers.map((server) => serverJson(server, facts)),
  };
}

function serverJson(server: PlannedServer, { done }: ReportFacts): JsonObject {
  const { name, place, action, reason, entry, notes, secrets } = server;
  const made = done.get(server);
  return {
    name,
    source: placeJson(place),
    action,
    ...defined({
      change: made?.change === undefined ? undefined : made.change,
      error: made?.error === undefined ? undefined : made.error,
      reason,
      entry: entry === undefined ? undefined : maskEntry(entry),
    }),
    notes,
    secrets: secrets.map(({ key, name: of }) => `${key}.${of}`),
  };
}
