// `tenon mcp resources|read|prompts`: what servers offer beside tools, listed and read.
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { nearest } from "../../../base/text/nearest.js";
import { type EffectiveServer, whyNotReady } from "../../../config/index.js";
import {
  getPrompt,
  type Link,
  listPrompts,
  listResources,
  listResourceTemplates,
  type McpPrompt,
  readResource,
} from "../../../mcp/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, tableLines } from "../../context.js";
import { stoppable } from "../../exit.js";
import { progress } from "../../terminal/screen.js";
import { visibleLine } from "../../terminal/text.js";
import { blockText, saveBlocks } from "./call.js";
import { liveConfig, secondsToMs, serverNamed, startingText, withServer } from "./inspect.js";
import { nextForUnused } from "./next-steps.js";

interface Connected {
  readonly server: EffectiveServer;
  readonly link: Link;
  readonly signal: AbortSignal;
}

/** Connects to a server for `use`. Throws what kept it from being ready. */
async function withLink<T>(
  name: string,
  timeoutMs: number,
  context: CommandContext,
  use: (connected: Connected) => Promise<T>,
): Promise<T> {
  const config = await liveConfig(context);
  const server = serverNamed(config, name);
  if (server.status !== "ready") {
    const next = nextForUnused(server, context.world.env).join(", or ");
    throw refused(`${name} is not used: ${whyNotReady(server) ?? server.status}`, `Next: ${next}`);
  }
  using _shown = progress(context, `${name}: ${startingText(server)}…`);
  return await stoppable((signal) =>
    withServer(server, { config, context }, { timeoutMs, signal }, async ({ connection, inspection }) => {
      const link = connection?.link;
      if (!link) throw inspection.error ?? new TenonError("mcp.not_ready", `${name} is not connected`);
      return await use({ server, link, signal });
    }),
  );
}

/** What is left out first where a terminal is narrow: type, name. */
const DROPPED_FIRST = [1, 2] as const;

export const runResources: Run<Values<"json", "timeout">> = async ({ values, words: [name = ""] }, context) => {
  const { world } = context;
  const { resources, templates } = await withLink(
    name,
    secondsToMs(values.timeout),
    context,
    async ({ link, signal }) => {
      if (link.capabilities["resources"] === undefined) return { resources: [], templates: [] };
      const listed = await listResources(link, world, signal);
      const patterns = await listResourceTemplates(link, world, signal);
      return { resources: listed.items, templates: patterns.items };
    },
  );
  const rows = [
    ...resources.map(({ uri, mimeType, title, name: own, description }) => [
      uri,
      mimeType ?? "–",
      title ?? own,
      description,
    ]),
    ...templates.map(({ uriTemplate, mimeType, title, name: own, description }) => [
      uriTemplate,
      mimeType ?? "–",
      title ?? own,
      description,
    ]),
  ].map((row) => row.map((cell) => visibleLine(cell ?? "")));
  const head = ["uri", "type", "name", "what it is"];
  const lines =
    rows.length === 0 ? [`${visibleLine(name)} has no resources.`] : tableLines(head, rows, context, DROPPED_FIRST);
  report(context, values.json, { server: name, resources, templates }, lines);
};

export const runRead: Run<Values<"json", "timeout" | "output">> = async ({ values, words }, context) => {
  const [name = "", uri = ""] = words;
  const blocks = await withLink(name, secondsToMs(values.timeout), context, ({ link, signal }) =>
    readResource(link, uri, { signal }),
  );
  if (values.output !== undefined) await saveBlocks(blocks, values.output, context);
  report(
    context,
    values.json,
    { server: name, uri, contents: blocks },
    values.output === undefined ? blocks.map(blockText) : [],
  );
};

/** Without a prompt: the list. With one: its messages, filled in with the arguments. */
export const runPrompts: Run<Values<"json", "timeout">> = async ({ values, words }, context) => {
  const [name = "", wanted, ...pairs] = words;
  const given = Object.fromEntries(pairs.map(pairOf));
  await withLink(name, secondsToMs(values.timeout), context, async ({ link, signal }) => {
    const isOffered = link.capabilities["prompts"] !== undefined;
    const prompts = isOffered ? (await listPrompts(link, context.world, signal)).items : [];
    if (wanted === undefined) return { prompts };
    const prompt = promptNamed(prompts, wanted, name);
    const lacking = prompt.arguments.filter((one) => one.isRequired && given[one.name] === undefined);
    if (lacking.length > 0) throw misused(`it needs ${lacking.map((one) => `${one.name}=…`).join(" ")}`);
    return { text: await getPrompt(link, prompt.name, given, { signal }) };
  }).then(({ prompts, text }) => {
    if (prompts) return report(context, values.json, { server: name, prompts }, promptLines(name, prompts, context));
    const messages = text?.messages ?? [];
    const lines = messages.flatMap(({ role, content }) => [context.palette.dim(`${role}:`), ...content.map(blockText)]);
    report(context, values.json, { server: name, prompt: wanted, ...defined({ ...text }) }, lines);
  });
};

function pairOf(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  if (at < 1) throw misused('arguments of a prompt are written key=value; one has no key or no "="');
  return [word.slice(0, at), word.slice(at + 1)];
}

function promptNamed(prompts: readonly McpPrompt[], wanted: string, server: string): McpPrompt {
  const found = prompts.find(({ name }) => name === wanted);
  if (found) return found;
  const near = nearest(
    wanted,
    prompts.map(({ name }) => name),
  );
  const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  throw new TenonError("tool.unknown", `${server} has no prompt ${JSON.stringify(wanted)}${meant}`, {
    hint: `See tenon mcp prompts ${visibleLine(server)}.`,
  });
}

function promptLines(server: string, prompts: readonly McpPrompt[], context: CommandContext): readonly string[] {
  if (prompts.length === 0) return [`${visibleLine(server)} has no prompts.`];
  const rows = prompts.map(({ name, arguments: args, description, title }) => [
    visibleLine(name),
    visibleLine(args.map((one) => `${one.name}${one.isRequired ? "" : "?"}`).join(", ")) || "–",
    visibleLine(description === "" ? (title ?? "") : description),
  ]);
  return tableLines(["prompt", "arguments", "what it does"], rows, context);
}
