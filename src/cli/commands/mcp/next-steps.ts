// What to do about a server or a tool that does not work: commands that can be typed as they stand, the likeliest first.
import { ERROR_CODES, type ErrorCode, type TenonError } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { type EffectiveServer, placeText, type ReadyServer, unsetVariables } from "../../../config/index.js";
import type { WhyAnswer } from "../../../tools/index.js";
import { visibleLine } from "../../terminal/text.js";

/** A name as a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+=-]+$/u.test(text) ? text : `'${visibleLine(text).replaceAll("'", "'\\''")}'`;
}

const REMOTE_HINTS: Partial<Record<ErrorCode, string>> = {
  "mcp.connect_failed": "Check the URL, or ask the server's operator.",
  "mcp.connect_timeout": ERROR_CODES["mcp.unavailable"].recovery,
  "mcp.connection_lost": ERROR_CODES["mcp.unavailable"].recovery,
  "mcp.protocol": "Check the URL: the server there does not speak MCP.",
};

/** The default hint of a code fits any server; here it is known where the server is, and that no call ran. */
export function hintFor({ spec }: Pick<ReadyServer, "spec">, { code, hint, isDefaultHint }: TenonError): string {
  if (!isDefaultHint) return hint;
  if (spec.kind === "http" || spec.kind === "sse") return REMOTE_HINTS[code] ?? hint;
  return code === "mcp.connection_lost" ? ERROR_CODES["mcp.connect_failed"].recovery : hint;
}

export function nextFor(server: EffectiveServer, { code }: { readonly code: ErrorCode }): readonly string[] {
  const word = shellWord(server.name);
  const isRemote = server.status === "ready" && (server.spec.kind === "http" || server.spec.kind === "sse");
  const get = `tenon mcp get ${word}`;
  const logs = `tenon mcp logs ${word}`;
  const correctUrl = [get, `tenon mcp add ${word} --replace URL`];
  const steps: Partial<Record<ErrorCode, readonly string[]>> = {
    "mcp.spawn_failed": [get, `tenon mcp add ${word} --replace -- COMMAND ARGS…`],
    "mcp.unauthorized": isRemote ? [`tenon mcp login ${word}`] : [logs, get],
    "mcp.unavailable": correctUrl,
    "mcp.url_refused": correctUrl,
    "mcp.invalid_spec": correctUrl,
    "mcp.connect_failed": isRemote ? correctUrl : [logs],
    "mcp.protocol": isRemote ? correctUrl : [logs],
    "mcp.connect_timeout": [isRemote ? get : logs, `tenon mcp test ${word} --timeout 120`],
    "config.invalid": [get],
    "config.unreadable": [get],
  };
  return steps[code] ?? [isRemote ? get : logs];
}

/** For one that is not even started. */
export function nextForUnused(
  server: Exclude<EffectiveServer, { status: "ready" }>,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const word = shellWord(server.name);
  const unset = server.status === "disabled" ? unsetVariables(server.written, env) : [];
  switch (server.status) {
    case "untrusted":
      return [`tenon trust approve ${word}`];
    case "disabled":
      if (!server.isIntended) return [...unset.map((name) => `export ${name}=…`), `tenon mcp get ${word}`];
      return [`tenon mcp enable ${word}${server.place.layer === "project" ? " --project" : ""}`];
    case "invalid":
      return [`correct ${placeText(server.place)}, then tenon mcp test ${word}`];
    case "shadowed":
      return ["tenon mcp list --no-connect"];
    default:
      return unreachable(server);
  }
}

/** `server` is the tool's server, where that is known; `isLocked`: the lock of definitions holds the tool back. */
export function nextForWhy(
  kind: WhyAnswer["kind"],
  tool: string,
  { server, isLocked }: { readonly server: string | undefined; readonly isLocked: boolean },
): readonly string[] {
  const word = server === undefined ? "SERVER" : shellWord(server);
  const test = [`tenon mcp test ${word}`];
  const steps: Readonly<Record<WhyAnswer["kind"], readonly string[]>> = {
    offered: [],
    loaded: [],
    gone: [],
    ambiguous: [],
    behind_search: [
      `tenon mcp why ${shellWord(tool)} --prompt "what you would ask"`,
      '"include": "always" in its entry',
    ],
    below_cut: ['"include": "always" in its entry', '"tools": {"headStart": …} in your configuration'],
    over_budget: [
      '"include": "always" for this tool in its entry',
      '"tools": {"maxAlwaysTools": …} in your configuration',
    ],
    manual: [`/tools add ${tool} in the conversation`],
    filtered: [`tenon mcp get ${word} shows its allow, deny and tools`],
    shadowed: ["tenon mcp list --no-connect"],
    quarantined: test,
    server_failed: test,
    server_connecting: test,
    not_approved: isLocked
      ? [`tenon mcp diff ${word}`, `tenon mcp lock ${word}`]
      : ["tenon trust approvals", `tenon trust forget ${word}`],
    not_trusted: ["tenon trust", `tenon trust approve ${word}`],
    disabled: [`tenon mcp enable ${word}`],
    unknown: ["tenon mcp list", `tenon mcp tools --search ${shellWord(tool)}`],
  };
  return steps[kind];
}
