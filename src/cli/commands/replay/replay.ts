// `tenon replay FILE`: the agent once more, with the client, the servers and the model of a recording.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { HostAccess, loadAgent } from "../../../acp/index.js";
import { sleep } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { VERSION } from "../../../base/version.js";
import { type EffectiveConfig, isEffectiveConfig } from "../../../config/index.js";
import { createHost } from "../../../session/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, report, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { configuredModels } from "../../model.js";
import { progress } from "../../terminal/screen.js";
import { visible } from "../../terminal/text.js";
import { type Recording, readRecording, readText, runNumber } from "./recording.js";
import { type Replayed, Replayer } from "./replayer.js";

export const runReplay: Run<Values<"json", "run">> = async ({ values, words }, context) => {
  const [path = ""] = words;
  const recording = readRecording(await readText(resolve(context.cwd, path)), runNumber(values.run));
  if (recording.version !== VERSION && !values.json)
    warn(
      context,
      `it was recorded by Tenon ${recording.version}, and this is ${VERSION}: some differences may come from that`,
    );
  if (recording.isTorn && !values.json)
    warn(context, "its last line is torn: the process was killed while it wrote it, and what followed is not there");
  const replayed = await replayRecording(recording, context);
  report(context, values.json, replayed, replayedLines(replayed));
  return replayed.kind === "same" ? EXIT.done : EXIT.failed;
};

async function replayRecording(recording: Recording, context: CommandContext): Promise<Replayed> {
  using _shown = progress(context, "Replaying…");
  const home = mkdtempSync(join(tmpdir(), "tenon-replay-"));
  const { world: real } = context;
  const replayer = new Replayer(recording, {
    stalled: (signal) => sleep(real, CLI_LIMITS.replayStallMs, signal).catch(() => undefined),
    settle: () => new Promise((done) => real.soon(() => real.soon(() => done()))),
  });
  try {
    const { config, variables } = beginningOf(recording);
    const world = replayWorld(real, replayer, home, variables);
    const models = await configuredModels(config, world, async () => undefined);
    const { createAgent } = await loadAgent();
    const host = createHost({ world, model: models.first, models, config: {} });
    createAgent({ access: new HostAccess(host) }).connect(replayer.client.stream);
    try {
      return await replayer.run();
    } finally {
      await host.close().catch(() => undefined); // what was cut off in the middle may complain, and it has been said where
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** What the process itself went by: the first configuration it read, and the model that came of it and its environment. */
function beginningOf(recording: Recording) {
  const config = answerTo(recording, "configuration");
  const model = answerTo(recording, "model");
  const { id, variables = [] } = isJsonObject(model) ? model : {};
  if (config === undefined || !isEffectiveConfig(config) || typeof id !== "string" || !Array.isArray(variables)) {
    const hint = "Record it once more: the beginning of a run says what its configuration and its model were.";
    throw new TenonError("usage.invalid", "this cannot be replayed: it does not say how the run began", { hint });
  }
  const chosen = { value: id, place: { layer: "command-line" } } as const;
  return {
    config: { ...config, providers: standIns(config.providers), model: chosen },
    variables: variables.filter((name) => typeof name === "string"),
  };
}

/** Keys and addresses of then are of no use, since nothing is sent; but that there were some decides what can be chosen. */
function standIns(providers: EffectiveConfig["providers"]): EffectiveConfig["providers"] {
  const stand = ({ apiKey, baseUrl }: NonNullable<EffectiveConfig["providers"]["openai"]>) =>
    defined({
      apiKey: apiKey ? { ...apiKey, value: KEY } : undefined,
      baseUrl: baseUrl ? { ...baseUrl, value: NOWHERE } : undefined,
    });
  return Object.fromEntries(Object.entries(providers).map(([name, values]) => [name, stand(values)]));
}

function answerTo({ entries }: Recording, ask: string): JsonValue | undefined {
  const asked = entries.find(
    ({ channel, dir, message }) => channel === "host" && dir === "out" && message["ask"] === ask,
  );
  const question = asked?.message["question"];
  const isAnswer = ({ channel, dir, message }: Recording["entries"][number]) =>
    channel === "host" && dir === "in" && question !== undefined && message["question"] === question;
  return entries.find(isAnswer)?.message["answer"];
}

function replayedLines(replayed: Replayed): string[] {
  switch (replayed.kind) {
    case "same": {
      const { prompts, modelRequests, serverMessages, clientMessages, toolsOfTenon } = replayed.counts;
      return [
        "No difference.",
        `Prompts: ${prompts}. Requests to the model: ${modelRequests}. Messages to servers: ${serverMessages}, to the client: ${clientMessages}. Calls of Tenon's own tools, answered from the recording: ${toolsOfTenon}.`,
      ];
    }
    case "cut":
      return [
        `The same up to line ${replayed.seq}, where the recording is not whole: a message was too long for it.`,
        "What follows cannot be compared.",
      ];
    case "different": {
      const { seq, where, path = "", recorded, now } = replayed.difference;
      const isShown = recorded !== undefined || now !== undefined;
      return [
        `The first difference: ${visible(where)}${seq === undefined ? "" : ` (line ${seq} of the recording)`}`,
        ...(path === "" ? [] : [`  at        ${visible(path)}`]),
        ...(isShown ? [`  recorded  ${shown(recorded)}`, `  now       ${shown(now)}`] : []),
      ];
    }
  }
}

const SHOWN_CHARS = 400;

function shown(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  const text = visible(JSON.stringify(value));
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS)}… (${text.length} characters)`;
}

// The World of a replay: the real clock and real files of its own, and nothing that reaches out of it.

/** Keys nobody takes: the providers' packages want one, and no request of theirs leaves the process. */
const KEY = "replayed-and-never-sent";
const NOWHERE = "https://replayed.invalid/v1";

/** Variables that lead to models, as they were set then, get stand-ins by what their names say they were. */
function replayWorld(real: World, replayer: Replayer, home: string, variables: readonly string[]): World {
  const { trace: _untraced, telemetry: _unwatched, ...world } = real;
  const env = {
    ...Object.fromEntries(variables.map((name) => [name, name.endsWith("_URL") ? NOWHERE : KEY])),
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
