// `tenon mcp lock`: writes down how tools are defined now.
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  LOCK_NAME,
  whyNotReady,
  writeToolsLock,
} from "../../../config/index.js";
import {
  compareTools,
  type LockedTools,
  lockedServer,
  lockTools,
  type ToolChange,
  type ToolDefinition,
  type ToolsLock,
} from "../../../tools/index.js";
import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { visibleLine } from "../../terminal/text.js";
import { liveConfig, secondsToMs, serverNamed, visitAll } from "./visit.js";

interface Locked {
  readonly name: string;
  readonly tools: LockedTools;
  /** Against what was locked before; undefined when nothing was. */
  readonly changes?: readonly ToolChange[];
}

export async function runLock(
  { values, words }: Given<Values<"json" | "all", "timeout">>,
  context: CommandContext,
): Promise<number> {
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const config = await liveConfig(context);
  const names = words.length > 0 ? words : defaultNames(config, values.all === true);
  const listed = await listTools(names, config, context, timeoutMs);
  const locked = listed.flatMap(({ name, tools }): Locked[] => {
    if (tools === undefined) return [];
    const before = config.toolsLock && lockedServer(config.toolsLock, name);
    return [
      { name, tools: lockTools(tools), ...defined({ changes: before ? compareTools(before, tools) : undefined }) },
    ];
  });
  const servers = Object.fromEntries(locked.map(({ name, tools }) => [name, tools]));
  const file = locked.length === 0 ? undefined : await writeToolsLock(context.world, config.project, servers);
  tell(locked, listed, { file, isJson: values.json === true }, context);
  return locked.length === listed.length ? EXIT.done : EXIT.failed;
}

/** Of a team's lock, other people's servers are no part. */
function defaultNames({ servers, toolsLock }: EffectiveConfig, isAll: boolean): readonly string[] {
  const chosen = servers.filter(
    ({ name, place, status }) =>
      (isAll && status === "ready") ||
      (place.layer === "project" && status !== "shadowed") ||
      (toolsLock && lockedServer(toolsLock, name) !== undefined && status === "ready"),
  );
  if (chosen.length > 0) return chosen.map(({ name }) => name);
  const ready = servers.flatMap(({ name, status }) => (status === "ready" ? [name] : []));
  throw new TenonError("config.invalid", "this project brings no servers, and none is locked yet", {
    hint: ready.length === 0 ? "tenon mcp add adds one." : `Name the ones to lock (${ready.join(", ")}), or --all.`,
  });
}

function tell(
  locked: readonly Locked[],
  listed: readonly ListedServer[],
  { file, isJson }: { readonly file: string | undefined; readonly isJson: boolean },
  context: CommandContext,
): void {
  const failed = listed.flatMap(({ name, error, hint }) => (error === undefined ? [] : [{ name, error, hint }]));
  if (isJson) {
    return printJson(context, {
      ...defined({ file }),
      locked: locked.map(({ name, tools, changes = [] }) => ({
        server: name,
        tools: Object.entries(tools).map(([tool, { hash }]) => ({ tool, hash })),
        changes: changes.map(({ tool, change }) => ({ tool, change })),
      })),
      failed: failed.map(({ name, error, hint }) => ({ server: name, error, hint })),
    });
  }
  print(context, locked.map(lockedLine));
  if (file !== undefined) print(context, [context.palette.dim(`${visibleLine(file)} is for committing.`)]);
  for (const { name, error, hint } of failed) warn(context, `${name} is not locked: ${error}; see ${hint}`);
}

function lockedLine({ name, tools, changes }: Locked): string {
  const count = (kind: ToolChange["change"]) => changes?.filter(({ change }) => change === kind).length ?? 0;
  const parts = (["added", "changed", "removed"] as const).flatMap((kind) =>
    count(kind) === 0 ? [] : [`${count(kind)} ${kind}`],
  );
  const what = changes === undefined ? "new" : parts.length === 0 ? "as before" : parts.join(", ");
  const total = Object.keys(tools).length;
  return `${visibleLine(name)}: ${total === 1 ? "1 tool" : `${total} tools`} in ${LOCK_NAME} (${what})`;
}

// `tenon mcp diff`: how the tools of now differ from those that were locked.

/** One server against the lock. */
interface Compared {
  readonly server: string;
  readonly changes: readonly ToolChange[];
  /** Why it could not be compared: that counts as a difference. */
  readonly error?: string;
  readonly hint?: string;
  /** Nobody has it here: that does not. */
  readonly isAbsent?: boolean;
}

export async function runDiff(
  { values, words }: Given<Values<"json", "timeout">>,
  context: CommandContext,
): Promise<number> {
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const config = await liveConfig(context);
  const lock = lockOf(config, words);
  const compared = await compare(
    lock,
    words.length > 0 ? words : Object.keys(lock.servers),
    config,
    context,
    timeoutMs,
  );
  const isSame = compared.every(({ changes, error }) => changes.length === 0 && error === undefined);
  if (values.json === true) printJson(context, { isSame, servers: compared.map(comparedJson) });
  else show(compared, isSame, context);
  return isSame ? EXIT.done : EXIT.failed;
}

function lockOf({ toolsLock }: EffectiveConfig, words: readonly string[]): ToolsLock {
  if (!toolsLock) {
    const hint = "tenon mcp lock writes it.";
    throw new TenonError("config.invalid", `there is no ${LOCK_NAME} here`, { hint });
  }
  if (toolsLock.problem !== undefined) {
    const hint = "Correct it by hand, or write it anew with tenon mcp lock.";
    throw new TenonError("config.invalid", `${LOCK_NAME}: ${toolsLock.problem}`, { hint });
  }
  const unknown = words.find((word) => lockedServer(toolsLock, word) === undefined);
  if (unknown === undefined) return toolsLock;
  const message = `the server ${JSON.stringify(unknown)} is not in ${LOCK_NAME}`;
  throw new TenonError("config.invalid", message, { hint: `tenon mcp lock ${unknown} puts it there.` });
}

async function compare(
  lock: ToolsLock,
  names: readonly string[],
  config: EffectiveConfig,
  context: CommandContext,
  timeoutMs: number,
): Promise<readonly Compared[]> {
  const here = names.filter((name) => config.servers.some((server) => server.name === name && !isOff(server)));
  const listed = new Map((await listTools(here, config, context, timeoutMs)).map((one) => [one.name, one]));
  return [...new Set(names)].map((server): Compared => {
    const now = listed.get(server);
    const locked = lockedServer(lock, server);
    if (!locked) {
      return {
        server,
        changes: [],
        error: "what the lock says of it cannot be read",
        hint: `tenon mcp lock ${server}`,
      };
    }
    if (!now) return { server, changes: [], isAbsent: true };
    if (now.tools === undefined) return { server, changes: [], error: now.error, hint: now.hint };
    return { server, changes: compareTools(locked, now.tools) };
  });
}

function isOff(server: EffectiveConfig["servers"][number]): boolean {
  return server.status === "disabled" && server.isIntended === true;
}

const SIGNS: Readonly<Record<ToolChange["change"], string>> = { added: "+", removed: "-", changed: "~" };

function show(compared: readonly Compared[], isSame: boolean, context: CommandContext): void {
  const { palette } = context;
  const styles = { added: palette.green, removed: palette.red, changed: palette.yellow } as const;
  for (const { server, changes, error, hint, isAbsent } of compared) {
    const name = visibleLine(server);
    if (error !== undefined) warn(context, `${server} cannot be compared: ${error}; see ${hint ?? "tenon mcp test"}`);
    else if (isAbsent) print(context, [palette.dim(`${name}: locked, and not in use here`)]);
    else if (changes.length === 0) print(context, [`${name}: as locked`]);
    for (const { tool, change, difference } of changes) {
      print(context, [
        `${styles[change](`${SIGNS[change]} ${name} / ${visibleLine(tool)}`)} ${change}`,
        ...difference.map((line) => `    ${line}`),
      ]);
    }
  }
  if (!isSame) print(context, [palette.dim("tenon mcp lock SERVER accepts how its tools are now.")]);
}

function comparedJson({ server, changes, error, hint, isAbsent }: Compared): JsonObject {
  return {
    server,
    changes: changes.map(({ tool, change, difference }) => ({ tool, change, difference })),
    ...(error === undefined ? {} : { error, ...defined({ hint }) }),
    ...defined({ isAbsent: isAbsent || undefined }),
  };
}

// The tools some servers have now, asked of the servers themselves.

export type ListedServer =
  | {
      readonly name: string;
      readonly tools: readonly ToolDefinition[];
      readonly error?: undefined;
      readonly hint?: undefined;
    }
  | { readonly name: string; readonly error: string; readonly hint: string; readonly tools?: undefined };

/** In the order of the names; throws `config.invalid` for one that nobody configured. */
export async function listTools(
  names: readonly string[],
  config: EffectiveConfig,
  context: CommandContext,
  timeoutMs: number,
): Promise<readonly ListedServer[]> {
  const servers = [...new Set(names)].map((name) => serverNamed(config, name));
  const looked = await visitAll({ ...config, servers }, context, { timeoutMs });
  return looked.map(({ server, look }): ListedServer => {
    const { name } = server;
    if (look?.error) return { name, error: look.error.message, hint: look.error.hint };
    if (look) return { name, tools: look.tools.map(({ tool }) => tool) };
    return { name, error: whyNotReady(server) ?? server.status, hint: cureOf(server) };
  });
}

function cureOf({ name, status }: EffectiveServer): string {
  return status === "untrusted" ? `tenon trust approve ${name}` : `tenon mcp get ${name}`;
}
