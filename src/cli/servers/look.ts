// What can be told of a server once it was connected to: how it stands, what it offers, what that costs a model.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { toolTokens } from "../../engine/index.js";
import type { McpTool } from "../../mcp/index.js";
import { compileSchema } from "../../models/index.js";
import type { ServerStatus } from "../../session/index.js";
import type { Visited } from "./connect.js";

export interface LookedTool {
  readonly tool: McpTool;
  /** About so many in every model call it is offered in. */
  readonly tokens: number;
}

export interface Look {
  /** Undefined for one that is not to be started: switched off, not trusted, replaced. */
  readonly status?: ServerStatus;
  readonly tools: readonly LookedTool[];
  readonly tokens: number;
  /** Left out of its list, or of no use to a model: each in one sentence that names the tool. */
  readonly quarantined: readonly string[];
  /** What else people should hear of. */
  readonly warnings: readonly string[];
  readonly error?: TenonError;
}

/** Definitions of more tokens crowd out what they are for. */
const COSTLY_TOKENS = 1_500;

export function lookAt({ lone, isLate, redact }: Visited, timeoutMs: number): Look {
  const { status, connection } = lone;
  const state = connection?.state.value;
  const isReady = state?.kind === "ready";
  const tools = isReady ? (connection?.tools.value ?? []) : [];
  const looked = tools.map((tool) => ({ tool, tokens: tokensOf(tool) }));
  const told = isReady ? [...(status?.problems ?? []), ...(status?.note === undefined ? [] : [status.note])] : [];
  const problems = told.map(redact);
  const forms = tools.flatMap(formless);
  const cause = isReady ? undefined : errorOf(state, status, isLate ? timeoutMs : undefined);
  const error = cause && redacted(cause, redact);
  return {
    ...defined({ status }),
    tools: looked,
    tokens: looked.reduce((sum, { tokens }) => sum + tokens, 0),
    quarantined: [
      ...problems.filter(isLeftOut),
      ...forms.filter(({ isEverywhere }) => isEverywhere).map(({ text }) => text),
    ],
    warnings: [
      ...problems.filter((problem) => !isLeftOut(problem)),
      ...forms.filter(({ isEverywhere }) => !isEverywhere).map(({ text }) => text),
      ...looked.flatMap(doubts),
    ],
    ...defined({ error }),
  };
}

function redacted({ code, message, hint }: TenonError, redact: (text: string) => string): TenonError {
  return new TenonError(code, redact(message), { hint: redact(hint) });
}

type State = NonNullable<Visited["lone"]["connection"]>["state"]["value"];

function errorOf(
  state: State | undefined,
  status: ServerStatus | undefined,
  lateMs: number | undefined,
): TenonError | undefined {
  if (state?.kind === "failed" || state?.kind === "waiting") return state.cause;
  if (lateMs !== undefined) return new TenonError("mcp.connect_timeout", `not ready within ${lateMs / 1_000} s`);
  if (status?.error === undefined) return undefined;
  return new TenonError("mcp.not_ready", status.error, status.hint === undefined ? {} : { hint: status.hint });
}

function tokensOf({ name, description, inputSchema }: McpTool): number {
  return toolTokens({ name, description, inputSchema });
}

function isLeftOut(problem: string): boolean {
  return problem.startsWith("tool ");
}

const DIALECTS = ["anthropic", "openai-responses", "gemini", "openai-compatible"] as const;

/** Where a provider has no form for its schema, a session sets it aside. */
function formless({
  name,
  inputSchema,
}: McpTool): readonly { readonly isEverywhere: boolean; readonly text: string }[] {
  const reasons = DIALECTS.flatMap((dialect) => {
    const form = compileSchema(inputSchema, dialect);
    return form.ok ? [] : [{ dialect, reason: form.reason }];
  });
  const [first] = reasons;
  if (!first) return [];
  const isEverywhere = reasons.length === DIALECTS.length;
  const whom = isEverywhere ? "any model" : `models of ${reasons.map(({ dialect }) => dialect).join(", ")}`;
  return [{ isEverywhere, text: `tool ${JSON.stringify(name)} cannot be offered to ${whom}: ${first.reason}` }];
}

function doubts({ tool, tokens }: LookedTool): readonly string[] {
  const name = JSON.stringify(tool.name);
  return [
    ...(tool.description.trim() === "" ? [`tool ${name} has no description: a model can only guess what it does`] : []),
    ...(tokens > COSTLY_TOKENS ? [`tool ${name} costs about ${tokens} tokens in every model call`] : []),
  ];
}
