// What to do about a server that does not work: commands that can be typed as they stand.

import { ERROR_CODES, type ErrorCode } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { type EffectiveServer, LOCK_NAME, placeText, type ReadyServer } from "../../../config/index.js";
import type { WhyAnswer } from "../../../index.js";
import { visibleLine } from "../../terminal/text.js";

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

/** A name as a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+=-]+$/u.test(text) ? text : `'${visibleLine(text).replaceAll("'", "'\\''")}'`;
}

/** What a code says to do is said of any server and any time; here it is known where the server is, and that nothing ran. */
export function cured({ spec }: Pick<ReadyServer, "spec">, failure: Failure): Failure {
  const { code, hint } = failure;
  if (hint !== ERROR_CODES[code].cure) return failure;
  const cure = spec.kind === "http" || spec.kind === "sse" ? REMOTE_CURES[code] : LOCAL_CURES[code];
  return cure === undefined ? failure : { ...failure, hint: cure };
}

const REMOTE_CURES: Partial<Record<ErrorCode, string>> = {
  "mcp.connect_failed": "Check the URL, or ask whoever runs the server.",
  "mcp.connect_timeout": ERROR_CODES["mcp.unavailable"].cure,
  "mcp.connection_lost": ERROR_CODES["mcp.unavailable"].cure,
  "mcp.protocol": "Check the URL: what answers there does not speak MCP.",
};

const LOCAL_CURES: Partial<Record<ErrorCode, string>> = {
  "mcp.connection_lost": ERROR_CODES["mcp.connect_failed"].cure,
};

/** The most likely cure first. */
export function nextFor({ name, status, ...rest }: EffectiveServer, { code }: Failure): readonly string[] {
  const word = shellWord(name);
  const spec = "spec" in rest && status === "ready" ? rest.spec : undefined;
  const isRemote = spec?.kind === "http" || spec?.kind === "sse";
  switch (code) {
    case "mcp.spawn_failed":
      return [`tenon mcp get ${word}`, `tenon mcp add ${word} --replace -- COMMAND ARGS…`];
    case "mcp.unauthorized":
      return isRemote ? [`tenon mcp login ${word}`] : [`tenon mcp logs ${word}`, `tenon mcp get ${word}`];
    case "mcp.unavailable":
    case "mcp.url_refused":
    case "mcp.invalid_spec":
      return [`tenon mcp get ${word}`, `tenon mcp add ${word} --replace URL`];
    case "mcp.connect_failed":
    case "mcp.protocol":
      return isRemote ? [`tenon mcp get ${word}`, `tenon mcp add ${word} --replace URL`] : [`tenon mcp logs ${word}`];
    case "mcp.connect_timeout":
      return isRemote
        ? [`tenon mcp get ${word}`, `tenon mcp test ${word} --timeout 120`]
        : [`tenon mcp logs ${word}`, `tenon mcp test ${word} --timeout 120`];
    case "config.invalid":
    case "config.unreadable":
      return [`tenon mcp get ${word}`];
    default:
      return isRemote ? [`tenon mcp get ${word}`] : [`tenon mcp logs ${word}`];
  }
}

/** For one that is not even tried. */
export function nextForStanding(server: Exclude<EffectiveServer, { status: "ready" }>): readonly string[] {
  const word = shellWord(server.name);
  switch (server.status) {
    case "untrusted":
      return [`tenon trust approve ${word}`];
    case "disabled":
      return server.isIntended
        ? [`tenon mcp enable ${word}${server.place.layer === "project" ? " --project" : ""}`]
        : [`tenon mcp get ${word}`];
    case "invalid":
      return [`correct ${placeText(server.place)}, then tenon mcp test ${word}`];
    case "shadowed":
      return ["tenon mcp list --no-connect"];
    default:
      return unreachable(server);
  }
}

// What to do about a tool that is not where it should be: commands and settings, the most likely first.

/** `server` is whose tool it is, as far as that is known. */
export function nextForWhy({ kind, text }: WhyAnswer, tool: string, server: string | undefined): readonly string[] {
  const whose = server === undefined ? "SERVER" : shellWord(server);
  switch (kind) {
    case "offered":
    case "loaded":
    case "gone":
      return [];
    case "behind_search":
      return [`tenon mcp why ${shellWord(tool)} --prompt "what you would ask"`, '"include": "always" in its entry'];
    case "below_cut":
      return ['"include": "always" in its entry', '"tools": {"headStart": …} in your configuration'];
    case "over_budget":
      return ['"include": "always" for this tool in its entry', '"tools": {"maxAlwaysTools": …} in your configuration'];
    case "manual":
      return [`/tools add ${tool} in the conversation`];
    case "filtered":
      return [`tenon mcp get ${whose} shows its allow, deny and tools`];
    case "shadowed":
      return ["tenon mcp list --no-connect"];
    case "quarantined":
    case "server_failed":
    case "server_connecting":
      return [`tenon mcp test ${whose}`];
    case "not_approved":
      if (text.includes(LOCK_NAME)) return [`tenon mcp diff ${whose}`, `tenon mcp lock ${whose}`];
      return ["tenon trust approvals", `tenon trust forget ${whose}`];
    case "not_trusted":
      return ["tenon trust", `tenon trust approve ${whose}`];
    case "disabled":
      return [`tenon mcp enable ${whose}`];
    case "ambiguous":
      return [];
    case "unknown":
      return ["tenon mcp list", `tenon mcp tools --search ${shellWord(tool)}`];
    default:
      return unreachable(kind);
  }
}
