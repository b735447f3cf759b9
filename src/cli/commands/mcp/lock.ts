// `tenon mcp lock` and `tenon mcp diff`: keep how the tools of servers are defined, and compare with it.
import { defined } from "../../../base/json/defined.js";
import { type EffectiveConfig, LOCK_NAME, whyNotReady, writeToolsLock } from "../../../config/index.js";
import {
  compareTools,
  type LockedTools,
  lockedServer,
  lockTools,
  type ToolChange,
  type ToolDefinition,
  type ToolsLock,
} from "../../../tools/index.js";
import { type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, report, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { visibleLine } from "../../terminal/text.js";
import { inspectAll, liveConfig, secondsToMs, serverNamed } from "./inspect.js";

interface ListedServer {
  readonly name: string;
  /** Undefined when they could not be listed: then there is an error. */
  readonly tools?: readonly ToolDefinition[];
  readonly error?: string;
  readonly hint?: string;
}

/** Asks the servers themselves, in the order of the names. Throws `config.invalid` for one that is not configured. */
export async function listTools(
  names: readonly string[],
  config: EffectiveConfig,
  context: CommandContext,
  timeoutMs: number,
): Promise<readonly ListedServer[]> {
  const servers = [...new Set(names)].map((name) => serverNamed(config, name));
  const inspected = await inspectAll({ ...config, servers }, context, { timeoutMs });
  return inspected.map(({ server, inspection }): ListedServer => {
    const { name, status } = server;
    if (inspection?.error) return { name, error: inspection.error.message, hint: inspection.error.hint };
    if (inspection) return { name, tools: inspection.listed };
    const hint = status === "untrusted" ? `tenon trust approve ${name}` : `tenon mcp get ${name}`;
    return { name, error: whyNotReady(server) ?? status, hint };
  });
}

interface Locked {
  readonly name: string;
  readonly tools: LockedTools;
  /** Against what was locked before; undefined when nothing was. */
  readonly changes?: readonly ToolChange[];
}

export const runLock: Run<Values<"json" | "all", "timeout">> = async ({ values, words }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const config = await liveConfig(context);
  const names = words.length > 0 ? words : defaultNames(config, values.all === true);
  const listed = await listTools(names, config, context, timeoutMs);
  const locked = listed.flatMap(({ name, tools }): Locked[] => {
    if (tools === undefined) return [];
    const before = config.toolsLock && lockedServer(config.toolsLock, name);
    const changes = before ? compareTools(before, tools) : undefined;
    return [{ name, tools: lockTools(tools), ...defined({ changes }) }];
  });
  const failed = listed.filter(({ error }) => error !== undefined);
  const servers = Object.fromEntries(locked.map(({ name, tools }) => [name, tools]));
  const file = locked.length === 0 ? undefined : await writeToolsLock(context.world, config.project, servers);
  const shown = {
    ...defined({ file }),
    locked: locked.map(({ name, tools, changes = [] }) => ({
      server: name,
      tools: Object.entries(tools).map(([tool, { hash }]) => ({ tool, hash })),
      changes: changes.map(({ tool, change }) => ({ tool, change })),
    })),
    failed: failed.map(({ name, error, hint }) => ({ server: name, error, hint })),
  };
  const kept = file === undefined ? [] : [context.palette.dim(`${visibleLine(file)} is for committing.`)];
  report(context, values.json, shown, [...locked.map(lockedLine), ...kept]);
  if (!values.json) {
    for (const { name, error, hint } of failed) warn(context, `${name} is not locked: ${error}; see ${hint}`);
  }
  return failed.length === 0 ? EXIT.done : EXIT.failed;
};

/** Servers of the project, and of the lock: a team's lock does not cover other people's servers. */
function defaultNames({ servers, toolsLock }: EffectiveConfig, isAll: boolean): readonly string[] {
  const isLocked = (name: string) => toolsLock !== undefined && lockedServer(toolsLock, name) !== undefined;
  const chosen = servers.filter(
    ({ name, place, status }) =>
      (status === "ready" && (isAll || isLocked(name))) || (place.layer === "project" && status !== "shadowed"),
  );
  if (chosen.length > 0) return chosen.map(({ name }) => name);
  const ready = servers.flatMap(({ name, status }) => (status === "ready" ? [name] : []));
  throw refused(
    "this project configures no servers, and none is locked yet",
    ready.length === 0 ? "tenon mcp add adds one." : `Name the ones to lock (${ready.join(", ")}), or --all.`,
  );
}

function lockedLine({ name, tools, changes }: Locked): string {
  const parts = (["added", "changed", "removed"] as const).flatMap((kind) => {
    const count = changes?.filter(({ change }) => change === kind).length ?? 0;
    return count === 0 ? [] : [`${count} ${kind}`];
  });
  const what = changes === undefined ? "new" : parts.length === 0 ? "as before" : parts.join(", ");
  const total = Object.keys(tools).length;
  return `${visibleLine(name)}: ${total === 1 ? "1 tool" : `${total} tools`} in ${LOCK_NAME} (${what})`;
}

/** One server against the lock. */
interface Compared {
  readonly server: string;
  readonly changes: readonly ToolChange[];
  /** Why it could not be compared: that counts as a difference. */
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  /** It is not configured here: that does not. */
  readonly isAbsent?: boolean;
}

export const runDiff: Run<Values<"json", "timeout">> = async ({ values, words }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const config = await liveConfig(context);
  const lock = lockOf(config, words);
  const names = words.length > 0 ? words : Object.keys(lock.servers);
  const isOff = (server: EffectiveConfig["servers"][number]) =>
    server.status === "disabled" && server.isIntended === true;
  const here = names.filter((name) => config.servers.some((server) => server.name === name && !isOff(server)));
  const listed = await listTools(here, config, context, timeoutMs);
  const compared = [...new Set(names)].map((server): Compared => {
    const now = listed.find(({ name }) => name === server);
    const locked = lockedServer(lock, server);
    const unread = {
      error: "its part of the lock is not as Tenon wrote it: edited by hand, or merged badly",
      hint: `tenon mcp lock ${server}`,
    };
    if (!locked) return { server, changes: [], ...unread };
    if (!now) return { server, changes: [], isAbsent: true };
    if (now.tools === undefined) return { server, changes: [], error: now.error, hint: now.hint };
    return { server, changes: compareTools(locked, now.tools) };
  });
  const isSame = compared.every(({ changes, error }) => changes.length === 0 && error === undefined);
  if (values.json) printJson(context, { isSame, servers: compared });
  else printCompared(compared, isSame, context);
  return isSame ? EXIT.done : EXIT.failed;
};

function lockOf({ toolsLock }: EffectiveConfig, words: readonly string[]): ToolsLock {
  if (!toolsLock) throw refused(`there is no ${LOCK_NAME} here`, "tenon mcp lock writes it.");
  if (toolsLock.problem !== undefined) {
    throw refused(`${LOCK_NAME}: ${toolsLock.problem}`, "Correct it by hand, or write it anew with tenon mcp lock.");
  }
  const unknown = words.find((word) => lockedServer(toolsLock, word) === undefined);
  if (unknown === undefined) return toolsLock;
  const message = `the server ${JSON.stringify(unknown)} is not in ${LOCK_NAME}`;
  throw refused(message, `tenon mcp lock ${unknown} puts it there.`);
}

const CHANGES = {
  added: { sign: "+", style: "green" },
  removed: { sign: "-", style: "red" },
  changed: { sign: "~", style: "yellow" },
} as const;

function printCompared(compared: readonly Compared[], isSame: boolean, context: CommandContext): void {
  const { palette } = context;
  for (const { server, changes, error, hint, isAbsent } of compared) {
    const name = visibleLine(server);
    if (error !== undefined) warn(context, `${server} cannot be compared: ${error}; see ${hint ?? "tenon mcp test"}`);
    else if (isAbsent) print(context, [palette.dim(`${name}: locked, and not in use here`)]);
    else if (changes.length === 0) print(context, [`${name}: as locked`]);
    for (const { tool, change, difference } of changes) {
      const { sign, style } = CHANGES[change];
      const title = palette[style](`${sign} ${name} / ${visibleLine(tool)}`);
      print(context, [`${title} ${change}`, ...difference.map((line) => `    ${line}`)]);
    }
  }
  if (!isSame) print(context, [palette.dim("tenon mcp lock SERVER accepts how its tools are now.")]);
}
