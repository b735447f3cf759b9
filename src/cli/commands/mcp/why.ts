// `tenon mcp why`: why a tool is, or is not, offered to the model, and what to do about it.
import { join } from "node:path";
import { orAborted } from "../../../base/async/deadline.js";
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { type EffectiveConfig, type ReadyServer, tenonPaths } from "../../../config/index.js";
import type { Model } from "../../../models/index.js";
import { createHost, programOf, type Session } from "../../../session/index.js";
import type { WhyAnswer } from "../../../tools/index.js";
import { type CatalogTool, DecisionFiles, decide, lockedServer, mcpToolId, NO_PATHS } from "../../../tools/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { personalGrants, secretResolver } from "../../secrets.js";
import { progress } from "../../terminal/screen.js";
import { visibleLine } from "../../terminal/text.js";
import { nextForWhy } from "./next-steps.js";

export const runWhy: Run<Values<"json", "prompt">> = async ({ values, words }, context) => {
  const asked = words.join(" "); // titles have several words
  const config = await readConfig(context);
  const offered = await answerInSession(asked, values.prompt, context);
  const { kind, text, search, candidates = [] } = await withApproval(offered, config, context);
  const server = serverOf(offered, asked, config);
  const { toolsLock } = config;
  const isInLock = toolsLock !== undefined && server !== undefined && lockedServer(toolsLock, server) !== undefined;
  const next = nextForWhy(kind, asked, { server, isLocked: offered.kind === "not_approved" && isInLock });
  const code = kind === "unknown" ? EXIT.failed : EXIT.done;
  if (values.json === true) {
    printJson(context, { kind, text, ...defined({ search }), candidates, next });
    return code;
  }
  print(context, [
    visibleLine(text),
    ...candidates.map((path) => `  ${visibleLine(path)}`),
    ...next.map((line, at) => context.palette.dim(`${at === 0 ? "next: " : "      "}${visibleLine(line)}`)),
  ]);
  return code;
};

/** By the tool where it is known, else by the name that was asked for. */
function serverOf({ tool, server }: WhyAnswer, asked: string, { servers }: EffectiveConfig): string | undefined {
  if (tool || server !== undefined) return tool?.source ?? server;
  const prefixes = (name: string) => [`${name}/`, mcpToolId(name, "x").slice(0, -1)];
  return servers.find(({ name }) => asked === name || prefixes(name).some((prefix) => asked.startsWith(prefix)))?.name;
}

/** Calls no tool: only the offer before its first answer is wanted. */
const SILENT: Model = {
  id: "none/silent",
  async *stream() {
    yield { kind: "text", text: "…" };
    yield { kind: "finish", reason: "stop" };
  },
};

/**
 * Opens a session as an editor would, without a model. It starts the servers that the person trusts and asks nothing.
 * With a prompt, the tools chosen for it count too. Its journal is kept apart from those that can be resumed.
 */
async function answerInSession(tool: string, prompt: string | undefined, context: CommandContext): Promise<WhyAnswer> {
  const { world, cwd } = context;
  using _shown = progress(context, "Connecting to the servers…");
  const number = Buffer.from(world.randomBytes(8)).toString("hex");
  const stateDir = join(tenonPaths(world.env).cacheDir, "why", number);
  try {
    await using runtime = createHost({
      world,
      model: SILENT,
      stateDir,
      config: { resolveSecret: secretResolver(world) },
      grants: personalGrants(world),
    });
    const session = runtime.createSession({ cwd });
    await session.configured;
    await settled(session, world);
    await session.prompt(prompt ?? "/mcp");
    return session.tools.why(tool);
  } finally {
    await world.files.remove(stateDir);
  }
}

/** A prompt does not wait for servers that failed the last time; a person who asks why does. */
async function settled(session: Session, world: World): Promise<void> {
  using deadline = world.deadline(CLI_LIMITS.whyMs);
  const events = session.events();
  while (session.servers.some(({ state }) => state === "connecting")) {
    const next = await orAborted(events.next(), deadline.signal).catch(() => undefined);
    if (!next || next.done) break;
  }
  await events.return?.();
}

/** The answer, or `not_approved` for a tool whose every call is refused or must be asked about anew. */
async function withApproval(answer: WhyAnswer, config: EffectiveConfig, context: CommandContext): Promise<WhyAnswer> {
  const { tool } = answer;
  const server = config.servers.find(({ name, status }) => status === "ready" && name === tool?.source);
  if (!tool || tool.origin === "builtin" || server?.status !== "ready") return answer;
  const rule = ruleAgainst(tool, server, config);
  const refusal =
    rule === undefined ? await decisionAgainst(tool, server, context) : `But every call of it is refused: ${rule}.`;
  return refusal === undefined ? answer : { ...answer, kind: "not_approved", text: `${answer.text} ${refusal}` };
}

/** Only a rule that is about every call of it: conditions on arguments are not known here. */
export function ruleAgainst(
  {
    origin,
    source,
    definition,
  }: Pick<CatalogTool, "origin" | "source"> & { definition: Pick<CatalogTool["definition"], "name" | "annotations"> },
  server: ReadyServer,
  config: EffectiveConfig,
): string | undefined {
  const call = {
    origin,
    server: source,
    tool: definition.name,
    annotations: definition.annotations,
    trustsAnnotations: server.settings.trustsAnnotations,
    arguments: {},
    paths: NO_PATHS,
    mode: config.permissionMode?.value ?? "ask",
    mayBypass: config.mayBypass,
  };
  const { effect, reason } = decide(call, config.rules);
  return effect === "deny" ? reason : undefined;
}

async function decisionAgainst(
  tool: CatalogTool,
  server: ReadyServer,
  { world, cwd }: CommandContext,
): Promise<string | undefined> {
  const { name } = tool.definition;
  const project = (await world.files.find(cwd).catch(() => undefined))?.realPath ?? cwd;
  const { decisions } = await new DecisionFiles(world, tenonPaths(world.env).stateDir).load(project);
  const about = decisions.flatMap(({ decision }) => {
    const isAbout = "server" in decision && decision.server === tool.source && decision.tool === name;
    return isAbout && decision.origin === tool.origin ? [decision] : [];
  });
  if (about.some(({ kind }) => kind === "never")) return "But every call of it is refused: you said never to it.";
  const program = await programOf(server.spec, { world, cwd }).catch(() => undefined);
  const grants = about.flatMap((one) => (one.kind === "tool" && one.program === program ? [one] : []));
  const isChanged = grants.length > 0 && grants.every((grant) => grant.definitionHash !== tool.definitionHash);
  return isChanged ? "But its definition changed since you approved it, so the next call asks again." : undefined;
}
