// Composes the agent of `tenon chat` in this process, or attaches to the gateway that has the session already.
import { basename, join, resolve } from "node:path";
import { HostAccess, loadAgent } from "../../../acp/index.js";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import { type EffectiveConfig, possiblePaths, problemText, readyServers } from "../../../config/index.js";
import { type ChatOptions, runChat } from "../../chat/chat.js";
import { pictureProtocol } from "../../chat/pictures.js";
import { refused } from "../../command.js";
import { compose } from "../../compose.js";
import { type CommandContext, optionPath } from "../../context.js";
import { EXIT, exitAfter } from "../../exit.js";
import type { LiveTerminal } from "../../terminal/live/live-terminal.js";
import { mayColor } from "../../terminal/stream.js";
import { visible } from "../../terminal/text.js";
import { acpTap, openTraceFile, tappedAgent } from "../../trace.js";
import type { ChatValues, PlainContext } from "./chat.js";

export interface Start {
  readonly values: ChatValues;
  readonly context: PlainContext;
  readonly isTty: boolean;
  readonly live?: LiveTerminal;
  /** Answered once. */
  readonly prompt?: string;
  /** The first of a dialogue. */
  readonly first?: string;
  /** Of `--resume`. */
  readonly id?: string;
}

export async function startChat({ values, context, isTty, id, ...given }: Start): Promise<number> {
  const { model, "mcp-config": servers, yes = false, json = false, continue: isLast = false, resume = false } = values;
  const { live } = given;
  try {
    const session = id === undefined ? undefined : await storedSession(id, context);
    if (session?.isInGateway) return await attach(session.id, { ...given, values, context });
    const place = { world: context.world, from: context.cwd };
    const mcpConfig = servers === undefined ? undefined : optionPath("--mcp-config", servers, place);
    const trace = values.trace === undefined ? undefined : openTraceFile(values.trace);
    const { host, config } = await compose({ logLevel: "error", ...defined({ trace, model, mcpConfig }) });
    const fatal = fatalProblems(config, json);
    if (fatal.length > 0) {
      live?.stop();
      for (const line of fatal) process.stderr.write(`tenon chat: ${line}\n`);
    }
    if (fatal.length > 0 && isFatal(config)) return EXIT.config;
    const { createAgent } = await loadAgent();
    const agent = createAgent({ access: new HostAccess(host) });
    const stop = () => host.close(LIMITS.exitGrace);
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => exitAfter(stop, EXIT.interrupted));
    const wanted = session ? { id: session.id } : isLast ? "last" : resume ? "choose" : undefined;
    const code = await runChat({
      ...chatOptions({ ...given, context, yes, json, interactive: isTty }),
      agent: trace ? tappedAgent(agent, acpTap(trace)) : agent,
      slowServers: slowServers(config),
      notices: () => config.chatNotices,
      ...defined({ resume: wanted }),
    });
    exitAfter(stop, code);
    return code;
  } finally {
    live?.stop();
  }
}

/** What a chat of this process has, whichever agent it talks to. */
export function chatOptions(
  about: Pick<Start, "context" | "live" | "prompt" | "first"> & Pick<ChatOptions, "yes" | "json" | "interactive">,
): Omit<ChatOptions, "agent"> {
  const { context, live, prompt, first, ...how } = about;
  const { stateDir } = possiblePaths(process.env);
  return {
    ...how,
    cwd: process.cwd(),
    input: process.stdin,
    output: process.stdout,
    errorOutput: process.stderr,
    color: !context.isPlain && mayColor(process.stdout, process.env),
    env: process.env,
    exportSession: (id, file) => exportTo(id, file, context),
    ...defined({
      ...{ live, prompt, first },
      pictures:
        stateDir === undefined
          ? undefined
          : { folder: join(stateDir, "pictures"), protocol: pictureProtocol(process.env) },
    }),
    onInterrupt: (listener) => {
      process.on("SIGINT", listener);
      return () => process.off("SIGINT", listener);
    },
  };
}

/** By the beginning of its id. Throws `session.not_found`. */
async function storedSession(
  text: string,
  context: CommandContext,
): Promise<{ readonly id: string; readonly isInGateway: boolean }> {
  const { findSession } = await import("../sessions/sessions.js");
  return await findSession(text, context);
}

async function attach(id: string, { values, context, live, first }: Omit<Start, "isTty" | "id">): Promise<number> {
  const { attachTo } = await import("../gateway/attach.js");
  const { yes = false, json = false } = values;
  return await attachTo({ context, name: id, isWatching: false, yes, json, choice: {}, ...defined({ live, first }) });
}

async function exportTo(id: string, file: string, context: CommandContext): Promise<string> {
  const { runSessionExport } = await import("../sessions/export.js");
  const { PassThrough } = await import("node:stream");
  const silent = new PassThrough().resume();
  const path = resolve(context.cwd, file);
  // The command of the shell has an option for it.
  if ((await context.world.files.kindOf(path)) !== undefined)
    throw refused(`${path} is there already`, "Name another file: /export FILE.");
  await runSessionExport({ values: { output: file }, words: [id] }, { ...context, output: silent }).catch(
    (error: unknown) => {
      const isEmpty = error instanceof TenonError && error.code === "session.not_found";
      throw isEmpty ? refused("nothing was said in this session yet", "Send a prompt first.") : error;
    },
  );
  return path;
}

function isNamed({ place }: { readonly place: EffectiveConfig["problems"][number]["place"] }): boolean {
  return place.layer === "command-line";
}

/** A file that was named and has nothing to give is not passed over. */
function isFatal(config: EffectiveConfig): boolean {
  const isUsable = config.servers.some((server) => isNamed(server) && server.status !== "invalid");
  return !isUsable && config.problems.some((problem) => isNamed(problem) && problem.severity === "error");
}

/** Whatever is not fatal the session tells, unless its updates go to a program: then people read it here. */
function fatalProblems(config: EffectiveConfig, json: boolean): readonly string[] {
  const fatal = isFatal(config)
    ? config.problems.filter((problem) => isNamed(problem) && problem.severity === "error")
    : [];
  return (fatal.length > 0 ? fatal : json ? config.problems : []).map((problem) => visible(problemText(problem)));
}

/** Programs that fetch what they run. */
const FETCHERS: ReadonlySet<string> = new Set(
  ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "deno", "docker", "podman"].flatMap(
    (name) => [name, `${name}.cmd`, `${name}.exe`],
  ),
);

/** Which configured servers may have to be downloaded before they start. */
function slowServers(config: EffectiveConfig): readonly string[] {
  return readyServers(config)
    .filter(({ spec }) => spec.kind === "stdio" && FETCHERS.has(basename(spec.command).toLowerCase()))
    .map(({ name }) => name);
}
