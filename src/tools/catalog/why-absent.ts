// Why a name is none of a known tool: left out on the way, of a server that is shadowed, absent or not ready, or gone.
import { unreachable } from "../../base/id.js";
import { mcpToolId } from "../name.js";
import type { ToolId } from "../tool.js";
import type { KnownTools } from "./known-tools.js";
import { shadowText } from "./notices.js";
import { pathOf } from "./resolve.js";
import type { AbsentServer, CatalogState } from "./state.js";
import type { WhyAnswer } from "./why-answer.js";

/** Undefined when it was never there. */
export function whyAbsent(name: string, state: CatalogState): WhyAnswer | undefined {
  const gone = state.list.seen.get(name);
  if (gone) {
    return { kind: "gone", tool: gone.tool, text: `${gone.tool.label} is gone: its server does not have it any more.` };
  }
  return (
    first(state.book.active, (source) => whyLeftOut(name, source)) ??
    whyShadowed(name, state) ??
    first(state.absent, (server) => whyAbsentServer(name, server)) ??
    first(state.book.active, (source) => whyServer(name, source))
  );
}

function whyLeftOut(name: string, known: KnownTools): WhyAnswer | undefined {
  const { source } = known;
  const left = known.leftOut.find(({ ownName }) => namesOf(source.name, ownName).includes(name));
  if (left) {
    const kind = left.kind === "broken" ? "quarantined" : left.kind;
    const text = `The tool "${left.ownName}" of "${source.name}" is left out: ${left.reason}.`;
    return { kind, text, server: source.name };
  }
  const sentence = source.problems?.().find((problem) => mentions(problem, name, source.name));
  return sentence === undefined
    ? undefined
    : { kind: "quarantined", text: `Of the list of "${source.name}": ${sentence}.`, server: source.name };
}

/** A list's problems name their tools in quotes. */
function mentions(problem: string, name: string, server: string): boolean {
  const own = name.startsWith(`${server}/`) ? name.slice(server.length + 1) : name;
  const quoted = /^tool "(.*)" is left out/u.exec(problem)?.[1];
  return quoted !== undefined && (quoted === own || mcpToolId(server, quoted) === name);
}

function whyShadowed(name: string, { book }: CatalogState): WhyAnswer | undefined {
  const one = book.shadowed.find(
    ({ known }) =>
      known.source.name === name || known.tools.some(({ raw }) => namesOf(known.source.name, raw.name).includes(name)),
  );
  return one && { kind: "shadowed", text: `${capital(shadowText(one))}.` };
}

function whyAbsentServer(name: string, server: AbsentServer): WhyAnswer | undefined {
  if (!isOf(name, server.name)) return undefined;
  const kind = server.kind === "failed" ? "server_failed" : server.kind;
  return { kind, text: `The server "${server.name}" is not used: ${server.reason}.` };
}

function whyServer(name: string, { source, tools }: KnownTools): WhyAnswer | undefined {
  if (!isOf(name, source.name)) return undefined;
  const state = source.state?.value;
  const what = `The server "${source.name}"`;
  switch (state?.kind) {
    case undefined:
    case "ready":
      return name === source.name
        ? { kind: "ambiguous", text: `${what} is ready.`, candidates: tools.map(pathOf) }
        : {
            kind: "unknown",
            text: `${what} is ready and has no such tool.`,
            candidates: tools.slice(0, 20).map(pathOf),
          };
    case "connecting":
      return { kind: "server_connecting", text: `${what} is still connecting: its tools join once it is ready.` };
    case "broken":
      return { kind: "server_failed", text: `${what} broke and is being restarted: ${state.reason}.` };
    case "failed":
      return { kind: "server_failed", text: `${what} failed: ${state.reason}.` };
    case "closed":
      return { kind: "server_failed", text: `${what} is closed.` };
    default:
      return unreachable(state);
  }
}

function namesOf(server: string, ownName: string): readonly (string | ToolId)[] {
  return [ownName, `${server}/${ownName}`, mcpToolId(server, ownName)];
}

/** Whether a name belongs to a server whose tools nobody knows: only for words to people, nothing is looked up by it. */
function isOf(name: string, server: string): boolean {
  return name === server || name.startsWith(`${server}/`) || name.startsWith(mcpToolId(server, "x").slice(0, -1));
}

function first<T, U>(items: readonly T[], find: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
