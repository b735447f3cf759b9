// `tenon mcp diff`: how the tools of now differ from those that were locked.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { type EffectiveConfig, LOCK_NAME } from "../../config/index.js";
import { compareTools, lockedServer, type ToolChange, type ToolsLock } from "../../tools/index.js";
import { type CommandContext, print, printJson, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { liveConfig, secondsToMs } from "../servers/connect.js";
import type { Given } from "../table/command.js";
import { visibleLine } from "../terminal/visible.js";
import { listTools } from "./listed.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly timeout?: string | undefined;
}

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

export async function runDiff({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
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
