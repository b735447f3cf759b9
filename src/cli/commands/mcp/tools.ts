// `tenon mcp tools`: the tools of the servers here, with what each costs a model; ranked when something is searched for.
import { Cell } from "../../../base/async/cell.js";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import { nearest } from "../../../base/text/nearest.js";
import { builtinSource } from "../../../builtin/index.js";
import { type EffectiveConfig, tenonPaths } from "../../../config/index.js";
import { MeaningSearch } from "../../../session/index.js";
import { type Closeness, LookAlikes, type NamedTool, SessionCatalog } from "../../../tools/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, print, printJson, report, tableLines, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { secretResolver } from "../../secrets.js";
import { visibleLine } from "../../terminal/text.js";
import {
  type InspectedServer,
  type InspectedTool,
  inspectAll,
  liveConfig,
  secondsToMs,
  serverNamed,
} from "./inspect.js";
import { shellWord } from "./next-steps.js";
import { signatureLines } from "./signature.js";

interface ListedTool extends InspectedTool {
  readonly server: string;
  readonly score?: number;
  /** How it resembles other tools, a sentence each. */
  readonly lookAlikes: readonly string[];
}

export const runTools: Run<Values<"json", "search" | "timeout">> = async ({ values, words }, context) => {
  const [only, wanted] = words;
  const timeoutMs = secondsToMs(values.timeout);
  const config = await liveConfig(context);
  if (only !== undefined) serverNamed(config, only);
  const inspected = await inspectAll(config, context, { timeoutMs, ...defined({ only }) });
  const all = listedTools(inspected, context);
  if (only !== undefined && wanted !== undefined)
    return showTool(only, wanted, { inspected, all }, values.json, context);
  const found =
    values.search === undefined ? undefined : await ranked(values.search, { inspected, all, config }, context);
  const shown = found?.tools ?? all;
  const failed = inspected.flatMap(({ server, inspection }) =>
    inspection?.error ? [{ server: server.name, message: inspection.error.message }] : [],
  );
  if (values.json === true) {
    printJson(context, { tools: shown.map(toolJson), failed, ...defined({ meaning: found?.meaning }) });
  } else {
    printTools(shown, values.search, context);
    const { reason, isUsed, model } = found?.meaning ?? {};
    if (isUsed) print(context, [context.palette.dim(visibleLine(`ranked by words and by meaning (${model})`))]);
    if (reason !== undefined)
      warn(context, visibleLine(`meaning was ${isUsed ? "used in part" : "not used"}: ${reason}`));
    for (const { server, message } of failed) warn(context, `${server}: ${message}`);
  }
  return only !== undefined && failed.length > 0 ? EXIT.failed : EXIT.done;
};

interface Shown {
  readonly inspected: readonly InspectedServer[];
  readonly all: readonly ListedTool[];
}

/** Throws `tool.unknown`, or what kept the server from being ready. */
function showTool(
  server: string,
  wanted: string,
  { inspected, all }: Shown,
  isJson: boolean | undefined,
  context: CommandContext,
): void {
  const error = inspected.find((one) => one.server.name === server)?.inspection?.error;
  if (error) throw error;
  const found = all.find(({ tool }) => tool.name === wanted);
  if (!found) {
    const near = nearest(
      wanted,
      all.map(({ tool }) => tool.name),
    );
    const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
    const hint = `See tenon mcp tools ${shellWord(server)}, or tenon mcp why ${shellWord(`${server}/${wanted}`)}.`;
    throw new TenonError("tool.unknown", `${server} has no tool ${JSON.stringify(wanted)}${meant}`, { hint });
  }
  report(context, isJson, toolJson(found), signatureLines(server, found, context));
}

function listedTools(inspected: readonly InspectedServer[], { world, cwd }: CommandContext): readonly ListedTool[] {
  const tools = inspected.flatMap(({ server, inspection }) =>
    (inspection?.tools ?? []).map((one) => ({ ...one, server: server.name })),
  );
  const named = (server: string, { name, title }: Pick<NamedTool, "name" | "title">) => {
    return { server, isOwn: server === "builtin", name, title };
  };
  const own = builtinSource({ world, cwd }).tools.value.map((tool) => named("builtin", tool));
  const index = new LookAlikes([...own, ...tools.map(({ server, tool }) => named(server, tool))]);
  return tools.map((one) => ({ ...one, lookAlikes: index.of(named(one.server, one.tool)) }));
}

interface FoundTools {
  readonly tools: readonly ListedTool[];
  /** Whether meaning counted; undefined where it is not configured. */
  readonly meaning?: { readonly model: string; readonly isUsed: boolean; readonly reason?: string };
}

/** In the order in which the model's own search would find them. */
async function ranked(
  query: string,
  {
    inspected,
    all,
    config,
  }: { inspected: readonly InspectedServer[]; all: readonly ListedTool[]; config: EffectiveConfig },
  { world }: CommandContext,
): Promise<FoundTools> {
  const { cacheDir } = tenonPaths(world.env);
  const resolveSecret = secretResolver(world);
  await using search = new MeaningSearch({ world, cacheDir, resolveSecret, waitMs: CLI_LIMITS.embeddingMs });
  const embeddings = search.of(config);
  let closeness: Closeness | undefined;
  const catalog = new SessionCatalog({
    dense: async (...asked) => {
      closeness = await embeddings?.scores(...asked);
      return closeness?.scores;
    },
  });
  for (const { server, inspection } of inspected) {
    if (!inspection) continue;
    const ended = new TenonError("mcp.not_ready", `the server ${JSON.stringify(server.name)} has ended`);
    const tools = new Cell(inspection.tools.map(({ tool }) => tool));
    catalog.add({ name: server.name, origin: "user", tools, call: async () => Promise.reject(ended) });
  }
  const limit = LIMITS.toolSearchResults.most;
  const answer = await catalog.search({ query, limit }, new AbortController().signal);
  const found = answer.kind === "found" ? answer.tools : [];
  const tools = found.flatMap(({ tool, score }) => {
    const one = all.find(({ server, tool: { name } }) => server === tool.source && name === tool.definition.name);
    return one ? [{ ...one, score }] : [];
  });
  if (!config.embeddings) return { tools };
  const { scores, reason } = closeness ?? {};
  const { model } = config.embeddings.settings;
  return { tools, meaning: { model, isUsed: (scores?.size ?? 0) > 0, ...defined({ reason }) } };
}

function printTools(tools: readonly ListedTool[], query: string | undefined, context: CommandContext): void {
  const { palette } = context;
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
  print(context, tableLines(head, rows, context));
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  if (query === undefined) print(context, [palette.dim(`${tools.length} tools, about ${tokens} tokens`)]);
  for (const { server, tool, lookAlikes } of tools) {
    if (lookAlikes.length > 0) warn(context, visibleLine(`${server}/${tool.name}: ${lookAlikes.join(" ")}`));
  }
}

function toolJson({ server, tool, tokens, score, lookAlikes }: ListedTool): object {
  const more = defined({ score, lookAlikes: lookAlikes.length > 0 ? lookAlikes : undefined });
  return { server, ...tool, tokens, ...more };
}
