// Ten whole programs against the runtime, each of which every operation of its World may fail in.
import { join } from "node:path";
import { isJsonObject } from "../../../src/base/json/json.js";
import type { ServerSpec } from "../../../src/mcp/index.js";
import type { ElicitQuestion, Session } from "../../../src/session/index.js";
import {
  type AuthServer,
  answerText,
  answerToolCall,
  authServer,
  type FakeProvider,
  fakeProvider,
  type ProtectedServer,
  protectedServer,
  visit,
} from "../../../src/testing/lab/index.js";
import { ECHO, type FaultStage, type StageOptions } from "./stage.js";

export interface Program {
  readonly name: string;
  stage?(): Promise<StageOptions>;
  /** What comes before: nothing fails there. */
  prepare?(stage: FaultStage): Promise<Session | undefined>;
  /** Whether it came to what the program is for. */
  run(stage: FaultStage, session: Session | undefined): Promise<boolean>;
}

const CALL = 'echo {"text":"hello"}';

async function opened(stage: FaultStage): Promise<Session> {
  const session = await stage.open();
  await stage.prompt(session, 'echo {"text":"warm"}');
  return session;
}

function need(session: Session | undefined): Session {
  if (!session) throw new Error("the program was not prepared");
  return session;
}

export const PROGRAMS: readonly Program[] = [
  {
    name: "open",
    run: async (stage) => {
      const session = await stage.attempt(() => stage.open());
      if (!session) return false;
      await stage.prompt(session, CALL);
      return stage.text(session).includes("hello");
    },
  },
  {
    name: "prompt with a tool call",
    stage: async () => {
      const { provider } = await lab();
      const env = { TENON_BASE_URL: provider.url };
      return { env, runtime: { model: "openai-compatible/test-model" } };
    },
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      await stage.prompt(session, CALL);
      return stage.text(session).includes("hello");
    },
  },
  {
    name: "edit",
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      const path = join(stage.project, "notes.txt");
      await stage.prompt(
        session,
        `edit_file ${JSON.stringify({ path, edits: [{ old_text: "two", new_text: "three" }] })}`,
      );
      await stage.prompt(session, `write_file ${JSON.stringify({ path: "new/file.txt", content: "fresh" })}`);
      const { files } = stage.base;
      return files.text(path) === "one\nthree\n" && files.text(join(stage.project, "new/file.txt")) === "fresh";
    },
  },
  {
    name: "command",
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      await stage.prompt(session, `run_command ${JSON.stringify({ command: "echo by-shell" })}`);
      return stage.text(session).includes("by-shell");
    },
  },
  {
    name: "cancel",
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      const prompted = stage.prompt(session, "slow {}");
      await stage.base.settle();
      session.cancel();
      const stop = await prompted;
      await stage.prompt(session, CALL);
      return stop === "cancelled" && stage.text(session).includes("hello");
    },
  },
  {
    name: "load",
    prepare: async (stage) => {
      const session = await opened(stage);
      await stage.drive(session.close());
      return session;
    },
    run: async (stage, given) => {
      const { id } = need(given);
      const loaded = await stage.attempt(() => stage.host.loadSession({ id, cwd: stage.project, servers: [ECHO] }));
      if (!loaded) return false;
      stage.follow(loaded.session);
      await stage.prompt(loaded.session, CALL);
      return stage.text(loaded.session).includes("hello");
    },
  },
  {
    name: "config change",
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      const config = { mcpServers: { added: { command: "other-server", args: [] } } };
      stage.base.files.write(join(stage.home, ".config/tenon/config.json"), JSON.stringify(config));
      await stage.drive(new Promise<void>((resolve) => stage.base.after(5_000, resolve)));
      await stage.prompt(session, 'other {"text":"configured"}');
      return stage.text(session).includes("configured");
    },
  },
  {
    name: "log-in",
    stage: async () => {
      const { auth, mcp } = await lab();
      return { config: { allowHosts: [auth.host, mcp.host] } };
    },
    run: async (stage) => {
      const { mcp } = await lab();
      const elicit = async ({ request }: ElicitQuestion) => {
        const back = await visit(String(request.url)).catch(() => undefined);
        if (back !== undefined) stage.base.listeners.visit(back);
        return { action: "accept" } as const;
      };
      const web: ServerSpec = { kind: "http", name: "web", url: mcp.url, headers: {} };
      const session = await stage.attempt(() => stage.open({ servers: [web], ports: { elicit } }));
      if (!session) return false;
      await stage.prompt(session, "whoami {}");
      return stage.text(session).includes("you are");
    },
  },
  {
    name: "big result",
    stage: async () => ({ hasRealFiles: true }),
    prepare: async (stage) => {
      const session = await stage.open({ servers: [{ ...ECHO, command: "big-server" }] });
      await stage.prompt(session, "hello");
      return session;
    },
    run: async (stage, given) => {
      const session = need(given);
      await stage.prompt(session, "long {}");
      await stage.prompt(session, "huge {}");
      // Where a result cannot be kept it is cut, and says so in its middle.
      return stage.text(session).split("the tool said: x").length === 3;
    },
  },
  {
    name: "close",
    prepare: opened,
    run: async (stage, given) => {
      const session = need(given);
      await stage.attempt(() => session.close());
      return true;
    },
  },
];

interface Lab {
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
  readonly provider: FakeProvider;
}

let servers: Promise<Lab> | undefined;

/** Real servers on this machine, the same for all runs. */
function lab(): Promise<Lab> {
  servers ??= openLab();
  return servers;
}

async function openLab(): Promise<Lab> {
  const auth = await authServer();
  const provider = await fakeProvider();
  provider.replyWith(({ body }) => {
    const messages = Array.isArray(body["messages"]) ? body["messages"] : [];
    const last = messages.findLast((message) => isJsonObject(message) && message["role"] !== "system");
    const words = isJsonObject(last) ? JSON.stringify(last["content"]) : "";
    if (isJsonObject(last) && last["role"] === "tool") return answerText(`the tool said: ${words.slice(0, 200)}`);
    const [, name = "", given = "{}"] = /(\w+) (\{.*\})/su.exec(words.replaceAll("\\", "")) ?? [];
    return answerToolCall(name === "other" ? "mcp__o__other" : `mcp__s__${name}`, JSON.parse(given));
  });
  return { auth, mcp: await protectedServer({ authServers: [auth] }), provider };
}

export async function closeLab(): Promise<void> {
  const open = await servers;
  servers = undefined;
  await open?.mcp[Symbol.asyncDispose]();
  await open?.auth[Symbol.asyncDispose]();
  await open?.provider[Symbol.asyncDispose]();
}
