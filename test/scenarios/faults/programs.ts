// Ten whole programs against the runtime, each of which every operation of its World may fail in.
import { join } from "node:path";
import type { Session } from "../../../src/index.js";
import { authServer, protectedServer, visit } from "../../../src/testing/index.js";
import { ECHO, type FaultStage, type StageOptions } from "./stage.js";

export interface Program {
  readonly name: string;
  readonly stage?: StageOptions;
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
      await stage.prompt(session, `edit_file ${JSON.stringify({ path, edits: [{ old_text: "two", new_text: "three" }] })}`);
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
    run: async (stage) => {
      const { auth, mcp } = await lab();
      const elicit = async ({ request }: { readonly request: { readonly url?: string } }) => {
        const back = await visit(String(request.url)).catch(() => undefined);
        if (back !== undefined) stage.base.listeners.visit(back);
        return { action: "accept" } as const;
      };
      const config = { allowHosts: [auth.host, mcp.host], mcpServers: { web: { type: "http", url: mcp.url } } };
      stage.base.files.write(join(stage.home, ".config/tenon/config.json"), JSON.stringify(config));
      const session = await stage.attempt(() => stage.open({ servers: [], ports: { elicit } }));
      if (!session) return false;
      await stage.prompt(session, "whoami {}");
      return stage.text(session).includes("you are");
    },
  },
  {
    name: "big result",
    stage: { hasRealFiles: true },
    prepare: async (stage) => {
      const session = await stage.open({ servers: [{ ...ECHO, command: "big-server" }] });
      await stage.prompt(session, "hello");
      return session;
    },
    run: async (stage, given) => {
      const session = need(given);
      await stage.prompt(session, "long {}");
      await stage.prompt(session, "huge {}");
      return stage.reasons.length === 0;
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

let servers: Promise<{ auth: Awaited<ReturnType<typeof authServer>>; mcp: Awaited<ReturnType<typeof protectedServer>> }> | undefined;

function lab() {
  servers ??= (async () => {
    const auth = await authServer();
    return { auth, mcp: await protectedServer({ authServers: [auth] }) };
  })();
  return servers;
}

export async function closeLab(): Promise<void> {
  const open = await servers;
  servers = undefined;
  await open?.mcp[Symbol.asyncDispose]();
  await open?.auth[Symbol.asyncDispose]();
}
