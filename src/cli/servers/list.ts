// `tenon mcp list`: every server of every layer, and how it stands; connected to unless told otherwise.
import { defined } from "../../base/json/defined.js";
import { type EffectiveConfig, problemText } from "../../config/index.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../configuration/context.js";
import { listLines, problemJson, serverJson } from "../configuration/server-report.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import type { Given } from "../table/command.js";
import { liveConfig, secondsToMs } from "./connect.js";
import { liveJson, liveLines } from "./list-report.js";
import { type LookedServer, visitAll } from "./visit-all.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly "no-connect"?: boolean | undefined;
  readonly timeout?: string | undefined;
}

export async function runList({ values }: Given<Values>, context: CommandContext): Promise<number> {
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const isOffline = values["no-connect"] === true;
  const config = isOffline ? await readConfig(context) : await liveConfig(context);
  const looked = isOffline ? undefined : await visitAll(config, context, { timeoutMs });
  if (values.json === true) printJson(context, listJson(config, looked));
  else show(config, looked, context);
  return EXIT.done;
}

function listJson({ servers, problems, notices, project }: EffectiveConfig, looked?: readonly LookedServer[]): object {
  return {
    project,
    servers: looked
      ? looked.map(({ server, look }) => ({
          ...serverJson(server),
          ...defined({ live: look ? liveJson(look) : undefined }),
        }))
      : servers.map(serverJson),
    problems: problems.map(problemJson),
    notices: notices.map(({ text }) => text),
  };
}

function show(config: EffectiveConfig, looked: readonly LookedServer[] | undefined, context: CommandContext): void {
  if (config.servers.length === 0) print(context, ["No MCP servers. tenon mcp add <name> -- command args… adds one."]);
  print(context, looked ? liveLines(looked, context) : listLines(config, context));
  // Those of an entry stand below it already.
  const told = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  for (const problem of config.problems) if (!told.has(problem)) warn(context, problemText(problem));
}
