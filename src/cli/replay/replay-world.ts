// The World of a replay: the real clock and real files of its own, and nothing that reaches out of it.
import { tmpdir } from "node:os";
import { TenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { Replayer } from "./replayer.js";

/** Keys nobody takes: the providers' packages want one, and no request of theirs leaves the process. */
export const KEY = "replayed-and-never-sent";
export const NOWHERE = "https://replayed.invalid/v1";

/** What stands in for a variable of then, by what its name says it was. */
function standIn(name: string): string {
  return name.endsWith("_URL") ? NOWHERE : KEY;
}

export interface ReplayPlace {
  /** A folder of its own. */
  readonly home: string;
  /** The names of variables that lead to models, as they were set then. */
  readonly variables: readonly string[];
}

export function replayWorld(real: World, replayer: Replayer, { home, variables }: ReplayPlace): World {
  const { trace: _untraced, telemetry: _unwatched, ...world } = real;
  const env = {
    ...Object.fromEntries(variables.map((name) => [name, standIn(name)])),
    PATH: real.env["PATH"],
    HOME: home,
    TMPDIR: real.env["TMPDIR"] ?? tmpdir(),
    TENON_HOME: home,
  };
  return {
    ...world,
    env,
    now: () => replayer.now,
    fetch: replayer.fetch,
    replay: replayer,
    spawn: ({ command }) => {
      throw new TenonError("internal", `a replay starts nothing, and was to start ${command}`);
    },
    lookup: async (host) => {
      throw new TenonError("internal", `a replay asks nobody, and was to look up ${host}`);
    },
    watch: () => ({ close: () => undefined }),
  };
}
