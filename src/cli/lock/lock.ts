// `tenon mcp lock`: writes down how tools are defined now.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type EffectiveConfig, LOCK_NAME, writeToolsLock } from "../../config/index.js";
import { compareTools, type LockedTools, lockedServer, lockTools, type ToolChange } from "../../tools/index.js";
import { type CommandContext, print, printJson, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { liveConfig, secondsToMs } from "../servers/connect.js";
import type { Given } from "../table/command.js";
import { visibleLine } from "../terminal/visible.js";
import { type ListedServer, listTools } from "./listed.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly all?: boolean | undefined;
  readonly timeout?: string | undefined;
}

interface Locked {
  readonly name: string;
  readonly tools: LockedTools;
  /** Against what was locked before; undefined when nothing was. */
  readonly changes?: readonly ToolChange[];
}

export async function runLock({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
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
