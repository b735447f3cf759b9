// `tenon mcp why`: what became of a tool on its way to the model, and what to do about it.

import { join } from "node:path";
import { defined } from "../../../base/json/defined.js";
import { type EffectiveConfig, type ReadyServer, tenonPaths } from "../../../config/index.js";
import { createRuntime, type Model, type WhyAnswer } from "../../../index.js";
import { programOf } from "../../../session/index.js";
import { type CatalogTool, DecisionFiles, decide, NO_PATHS } from "../../../tools/index.js";
import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig } from "../../context.js";
import { EXIT } from "../../exit.js";
import { personalGrants } from "../../login/grants.js";
import { secretResolver } from "../../secrets.js";
import { progress } from "../../terminal/screen.js";
import { visibleLine } from "../../terminal/text.js";
import { nextForWhy } from "./next.js";

export async function runWhy(
  { values, words }: Given<Values<"json", "prompt">>,
  context: CommandContext,
): Promise<number> {
  const tool = words.join(" "); // titles have several words
  const config = await readConfig(context);
  const answer = await withApproval(await answerTo(tool, values.prompt, context), config, context);
  const { kind, text, search, candidates = [] } = answer;
  const next = nextForWhy(answer, tool, serverOf(answer, tool, config));
  if (values.json === true) printJson(context, { kind, text, ...defined({ search }), candidates, next });
  else {
    const { palette } = context;
    print(context, [
      visibleLine(text),
      ...candidates.map((path) => `  ${visibleLine(path)}`),
      ...next.map((line, at) => palette.dim(`${at === 0 ? "next: " : "      "}${visibleLine(line)}`)),
    ]);
  }
  return EXIT.done;
}

async function answerTo(tool: string, prompt: string | undefined, context: CommandContext): Promise<WhyAnswer> {
  using _shown = progress(context, "Connecting to the servers…");
  return await whyHere(tool, prompt, context);
}

/** By the tool where it is known, else by the name that was asked for. */
function serverOf({ tool, server }: WhyAnswer, asked: string, { servers }: EffectiveConfig): string | undefined {
  if (tool || server !== undefined) return tool?.source ?? server;
  return servers.find(
    ({ name }) => asked === name || asked.startsWith(`${name}/`) || asked.startsWith(`mcp__${name}__`),
  )?.name;
}

// `tenon mcp why`: opens a session as an editor would here, without a model, and asks it what became of a tool.

/** Calls nothing: only what comes before its first answer is wanted. */
const SILENT: Model = {
  id: "none/silent",
  async *stream() {
    yield { kind: "text", text: "…" };
    yield { kind: "finish", reason: "stop" };
  },
};

/**
 * Starts the servers that a session here would start, which are those the person trusts; nobody is asked anything. With a
 * prompt, what it would choose is looked at too. The session is a passing one, kept apart from those that can be resumed.
 */
export async function whyHere(
  tool: string,
  prompt: string | undefined,
  { world, cwd }: CommandContext,
): Promise<WhyAnswer> {
  const number = Buffer.from(world.randomBytes(8)).toString("hex");
  const stateDir = join(tenonPaths(world.env).cacheDir, "why", number);
  try {
    await using runtime = createRuntime({
      world,
      model: SILENT,
      stateDir,
      config: { resolveSecret: secretResolver(world) },
      grants: personalGrants(world),
    });
    const session = runtime.createSession({ cwd });
    await session.prompt(prompt ?? "/mcp"); // either waits for the servers
    return session.tools.why(tool);
  } finally {
    await world.files.remove(stateDir);
  }
}

// Whether a tool that is in front of the model could be called at all: what the person and their rules said of it.

/** The answer, or `not_approved` in its place for a tool whose every call is refused or must be asked about anew. */
export async function withApproval(
  answer: WhyAnswer,
  config: EffectiveConfig,
  context: CommandContext,
): Promise<WhyAnswer> {
  const { tool } = answer;
  const server = config.servers.find(({ name, status }) => status === "ready" && name === tool?.source);
  if (!tool || tool.origin === "builtin" || server?.status !== "ready") return answer;
  const rule = ruleAgainst(tool, server, config);
  const refusal =
    rule === undefined ? await saidOf(tool, server, context) : `But every call of it is refused: ${rule}.`;
  return refusal === undefined ? answer : { ...answer, kind: "not_approved", text: `${answer.text} ${refusal}` };
}

type RuledDefinition = {
  readonly name: string;
  readonly annotations?: CatalogTool["definition"]["annotations"] | undefined;
};

/** Only a rule that is about every call of it: conditions on arguments are not known here. */
export function ruleAgainst(
  tool: Pick<CatalogTool, "origin" | "source"> & { readonly definition: RuledDefinition },
  server: ReadyServer,
  config: EffectiveConfig,
): string | undefined {
  const { effect, reason } = decide(
    {
      origin: tool.origin,
      server: tool.source,
      tool: tool.definition.name,
      annotations: tool.definition.annotations,
      trustsAnnotations: server.settings.trustsAnnotations,
      arguments: {},
      paths: NO_PATHS,
      mode: config.permissionMode?.value ?? "ask",
      mayBypass: config.mayBypass,
    },
    config.rules,
  );
  return effect === "deny" ? reason : undefined;
}

async function saidOf(tool: CatalogTool, server: ReadyServer, context: CommandContext): Promise<string | undefined> {
  const { world, cwd } = context;
  const { name } = tool.definition;
  const project = (await world.files.find(cwd).catch(() => undefined))?.realPath ?? cwd;
  const { decisions } = await new DecisionFiles(world, tenonPaths(world.env).stateDir).load(project);
  const about = decisions.flatMap(({ decision }) => {
    const isAbout = "server" in decision && decision.server === tool.source && decision.tool === name;
    return isAbout && decision.origin === tool.origin ? [decision] : [];
  });
  if (about.some(({ kind }) => kind === "never")) return "But every call of it is refused: you said never to it.";
  const program = await programOf(server.spec, { world, cwd }).catch(() => undefined);
  const grants = about.filter((one) => one.kind === "tool" && one.program === program);
  const isChanged =
    grants.length > 0 && grants.every((one) => one.kind === "tool" && one.definitionHash !== tool.definitionHash);
  return isChanged ? "But its definition changed since you approved it, so the next call asks again." : undefined;
}
