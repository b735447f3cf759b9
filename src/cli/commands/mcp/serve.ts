// `tenon mcp serve`: the catalog of all configured servers as one MCP server, over stdio or HTTP, until the client is gone.
import { createHash } from "node:crypto";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import { SERVING } from "../../../base/serving.js";
import { tenonPaths } from "../../../config/index.js";
import { type ListenAt, LiveTokens, tokensInFile } from "../../../gateway/index.js";
import { type ServeOptions, serveHttp, serveStdio, unstoredSessions } from "../../../serve/index.js";
import { BUILTIN_NAMES, type BuiltinName, type SessionHost } from "../../../session/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { compose } from "../../compose.js";
import { type CommandContext, optionPath, print, useAgentDirectory } from "../../context.js";
import { EXIT, exitAfter, onStopSignals, onUncaught } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { listenPlaces } from "../../listen-options.js";
import { visible } from "../../terminal/text.js";
import { openTraceFile } from "../../trace.js";

type ServeValues = Values<
  "search" | "own-names" | "yes" | "http" | "insecure-http",
  "config" | "mcp-config" | "trace" | "listen" | "tls-cert" | "tls-key",
  "builtin" | "host"
>;

/** A model is never asked here. */
const NO_MODEL = "offline/operator";

export const runServe: Run<ServeValues> = async ({ values }, context) => {
  const { world, cwd } = context;
  if (values.config !== undefined) useAgentDirectory(optionPath("--config", values.config, { world, from: cwd }));
  const listen = placeOf(values, context);
  const builtin = builtinOf(values.builtin ?? []);
  const path = values["mcp-config"];
  const mcpConfig = path && optionPath("--mcp-config", path, { world, from: cwd });
  markServing([tenonPaths(process.env).configFile, cwd, mcpConfig]);
  const tracePath = values.trace && optionPath("--trace", values.trace, { world, from: cwd });
  process.stderr.on("error", () => {}); // what is logged is lost then, and nothing else
  const trace = tracePath ? openTraceFile(tracePath) : undefined;
  const runtime = { builtin, store: unstoredSessions() };
  const { host } = await compose({ model: NO_MODEL, runtime, ...defined({ mcpConfig, trace }) });
  onUncaught(({ message, stack }) => host.world.log.error("process.uncaught", { error: message, stack }));
  const settings = {
    isSearch: values.search === true,
    hasOwnNames: values["own-names"] === true,
    allowsAsked: values.yes === true,
  };
  const options = { host, cwd, settings };
  if (listen) await overHttp(options, { listen, hosts: values.host ?? [] }, context);
  else overStdio(options);
  await new Promise(() => {}); // until the client is gone, or a signal stops it
};

/**
 * An entry that starts this very command, as agents have one, may be among the servers it serves: each would start the next,
 * without end. `place`: what decides which servers they are.
 */
function markServing(place: readonly (string | undefined)[]): void {
  const above = process.env[SERVING]?.split(",") ?? [];
  const mark = createHash("sha256").update(JSON.stringify(place)).digest("hex").slice(0, 16);
  if (above.includes(mark) || above.length >= CLI_LIMITS.servingDepth) {
    throw new TenonError(
      "usage.invalid",
      "this was started by a `tenon mcp serve` of the same servers, as one of them",
      {
        hint: "Take the entry that starts it out of Tenon's own configuration, or disable it there: it is for other agents.",
      },
    );
  }
  process.env[SERVING] = [...above, mark].join(",");
}

function overStdio(options: ServeOptions): void {
  const serving = serveStdio(options, { input: process.stdin, output: process.stdout });
  const stop = (code: number) => exitAfter(() => ended(options.host, () => serving.close(LIMITS.exitGrace)), code);
  onStopSignals(stop);
  process.on("exit", () => serving.flush());
  serving.closed.then(() => stop(EXIT.done)).catch(() => stop(EXIT.failed));
}

async function overHttp(
  options: ServeOptions,
  { listen, hosts }: { readonly listen: ListenAt; readonly hosts: readonly string[] },
  context: CommandContext,
): Promise<void> {
  const { host } = options;
  const { world } = host;
  const { stateDir } = tenonPaths(world.env);
  const tokens = new LiveTokens(world, tokensInFile(world, stateDir));
  await tokens.ready();
  const serving = serveHttp(options, { listen, hosts, tokens });
  const close = async () => {
    await serving.close();
    await tokens[Symbol.asyncDispose]();
  };
  onStopSignals((code) => exitAfter(() => ended(host, close), code));
  const address = await serving.start();
  const scheme = listen.kind === "tcp" && listen.tls ? "https" : "http";
  print(context, [`tenon mcp serve: listens at ${scheme}://${visible(address)}/mcp`]);
  const kept = await tokens.kept.list();
  const isGood = kept.some(({ revokedAt, scopes, expiresAt = Infinity }) => {
    return revokedAt === undefined && expiresAt > world.now() && scopes.includes("tools");
  });
  if (!isGood) {
    context.errorOutput.write("There is no token for it yet: tenon gateway token create NAME --scopes tools\n");
  }
}

/** The sessions first, then what they share. */
async function ended(host: SessionHost, close: () => Promise<void>): Promise<void> {
  await close().catch(() => {});
  await host.close(LIMITS.exitGrace);
}

function placeOf(values: Parameters<typeof runServe>[0]["values"], { cwd }: CommandContext): ListenAt | undefined {
  const { listen = values.http === true ? CLI_LIMITS.servePort : undefined } = values;
  const given = values["tls-cert"] ?? values["tls-key"] ?? values.host?.[0];
  if (listen === undefined && (given !== undefined || values["insecure-http"] === true)) {
    throw misused("--tls-cert, --tls-key, --host and --insecure-http belong to --listen");
  }
  return listenPlaces(listen === undefined ? [] : [listen], values, cwd)[0];
}

function builtinOf(given: readonly string[]): readonly BuiltinName[] {
  const names = given.flatMap((words) => words.split(",")).map((word) => word.trim());
  if (names.includes("all")) return BUILTIN_NAMES;
  return names.map((name) => {
    const known = BUILTIN_NAMES.find((one) => one === name);
    if (known) return known;
    throw misused(`--builtin: there is no tool ${JSON.stringify(name)}; there are ${BUILTIN_NAMES.join(", ")}`);
  });
}
