// `tenon mcp tools`: what the servers here offer, with what each tool costs a model; ranked when something is searched for.
import { Cell } from "../../../base/async/cell.js";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import { builtinSource } from "../../../builtin/index.js";
import { LookAlikes, type NamedTool, SessionCatalog, type ToolSource } from "../../../tools/index.js";
import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { renderTable, visibleLine } from "../../terminal/text.js";
import { type LookedServer, type LookedTool, liveConfig, secondsToMs, serverNamed, visitAll } from "./visit.js";

interface ListedTool extends LookedTool {
  readonly server: string;
  readonly score?: number;
  /** What of it looks like another tool, a sentence each. */
  readonly lookAlikes: readonly string[];
}

export async function runTools(
  { values, words }: Given<Values<"json", "search" | "timeout">>,
  context: CommandContext,
): Promise<number> {
  const [only] = words;
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const config = await liveConfig(context);
  if (only !== undefined) serverNamed(config, only);
  const looked = await visitAll(config, context, { timeoutMs, ...defined({ only }) });
  const all = withLookAlikes(
    looked.flatMap(({ server, look }) => (look?.tools ?? []).map((one) => ({ ...one, server: server.name }))),
    context,
  );
  const shown = values.search === undefined ? all : await ranked(values.search, looked, all);
  if (values.json === true) printJson(context, { tools: shown.map(toolJson), failed: failures(looked) });
  else show(shown, values.search, context);
  const failed = failures(looked);
  for (const { server, message } of values.json === true ? [] : failed) warn(context, `${server}: ${message}`);
  if (only !== undefined && failed.length > 0) return EXIT.failed;
  return EXIT.done;
}

function withLookAlikes(
  tools: readonly Omit<ListedTool, "lookAlikes">[],
  { world, cwd }: CommandContext,
): readonly ListedTool[] {
  const own = builtinSource({ world, cwd }).tools.value.map(({ name, title }) => named(OWN, { name, title }));
  const index = new LookAlikes([...own, ...tools.map(({ server, tool }) => named(server, tool))]);
  return tools.map((one) => ({ ...one, lookAlikes: index.of(named(one.server, one.tool)) }));
}

const OWN = "builtin";

function named(server: string, { name, title }: Pick<NamedTool, "name" | "title">): NamedTool {
  return { server, isOwn: server === OWN, name, title };
}

function failures(looked: readonly LookedServer[]): readonly { readonly server: string; readonly message: string }[] {
  return looked.flatMap(({ server, look }) =>
    look?.error ? [{ server: server.name, message: look.error.message }] : [],
  );
}

/** In the order in which the model's own search would find them. */
async function ranked(
  query: string,
  looked: readonly LookedServer[],
  all: readonly ListedTool[],
): Promise<readonly ListedTool[]> {
  const catalog = new SessionCatalog({});
  for (const { server, look } of looked) if (look) catalog.add(stillSource(server.name, look.tools));
  const limit = LIMITS.toolSearchResults.most;
  const answer = await catalog.search({ query, limit }, new AbortController().signal);
  if (answer.kind !== "found") return [];
  return answer.tools.flatMap(({ tool, score }) => {
    const one = all.find(({ server, tool: { name } }) => server === tool.source && name === tool.definition.name);
    return one ? [{ ...one, score }] : [];
  });
}

/** Its tools as they were; the server itself has ended. */
function stillSource(name: string, tools: readonly LookedTool[]): ToolSource {
  return {
    name,
    origin: "user",
    tools: new Cell(tools.map(({ tool }) => tool)),
    call: async () => {
      throw new TenonError("mcp.not_ready", `the server ${JSON.stringify(name)} has ended`);
    },
  };
}

function show(tools: readonly ListedTool[], query: string | undefined, context: CommandContext): void {
  if (tools.length === 0) {
    return print(context, [query === undefined ? "No tools." : `No tool fits ${JSON.stringify(query)}.`]);
  }
  const rows = tools.map(({ server, tool, tokens, score }) => [
    ...(score === undefined ? [] : [score.toFixed(2)]),
    visibleLine(`${server}/${tool.name}`),
    String(tokens),
    visibleLine(tool.description),
  ]);
  const head = [...(query === undefined ? [] : ["score"]), "tool", "tokens", "what it does"];
  const [first = "", ...lines] = renderTable([head, ...rows], context);
  print(context, [context.palette.dim(first), ...lines]);
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  if (query === undefined) print(context, [context.palette.dim(`${tools.length} tools, about ${tokens} tokens`)]);
  for (const { server, tool, lookAlikes } of tools) {
    if (lookAlikes.length > 0) warn(context, visibleLine(`${server}/${tool.name}: ${lookAlikes.join(" ")}`));
  }
}

function toolJson({ server, tool, tokens, score, lookAlikes }: ListedTool): object {
  const more = defined({ score, lookAlikes: lookAlikes.length > 0 ? lookAlikes : undefined });
  return { server, ...tool, tokens, ...more };
}
