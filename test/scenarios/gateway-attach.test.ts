// `tenon attach` at a real terminal, beside an editor, with the local gateway.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { QUIET_MS } from "../../src/cli/terminal/live/menu.js";
import {
  type AcpClient,
  closeListener,
  echoTool,
  listenOnLoopback,
  readBody,
  scriptedServer,
} from "../../src/testing/index.js";
import { isOnPostgres } from "../test-store.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** Asks for a permission before the call is made. */
const ECHO = "please echo for the record";

/** A pseudo-terminal comes from `script` of util-linux. */
const NEEDS = { needs: ["script"], platform: "linux" } as const;

const POLL_MS = 20;
const WAIT_MS = 20_000;

/** A home with its local gateway, which is ended at the end, whoever started it. */
class Home extends TemporaryFolder implements AsyncDisposable {
  configure(more: object = {}): void {
    const { command, args, env } = scriptedServer({ tools: [echoTool()] });
    writeFileSync(
      join(this.path, "config.json"),
      JSON.stringify({ mcpServers: { s: { command, args, env } }, ...more }),
    );
  }

  async editor(permissions: "allow" | "wait" = "wait"): Promise<AcpClient> {
    const editor = await startTenon(this, { words: ["--gateway"], permissions });
    await editor.initialize({ clientInfo: { name: "test-editor", title: "Test editor", version: "1" } });
    return editor;
  }

  async tenon(words: readonly string[], input = ""): Promise<CommandResult> {
    return await runCommand(agentNode(), [TENON, ...words], { env: cleanEnv(this.path), cwd: this.path, input });
  }

  attach(...words: readonly string[]): Terminal {
    return new Terminal(this, ["attach", ...words]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It says so only once the gateway is gone.
    await this.tenon(["gateway", "stop", "--drain", "0"]);
    this[Symbol.dispose]();
  }
}

/** A command at a terminal of its own. */
class Terminal implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly exited: Promise<number | null>;
  #text = "";

  constructor(home: Home, words: readonly string[]) {
    const line = [agentNode(), TENON, ...words].map((word) => `'${word}'`).join(" ");
    const env = cleanEnv(home.path, { TERM: "dumb" });
    this.#child = spawn("script", ["-qfec", line, "/dev/null"], {
      env,
      cwd: home.path,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#text += chunk;
    });
    this.exited = once(this.#child, "exit").then(([code]: (number | null)[]) => code ?? null);
  }

  get text(): string {
    return this.#text.replaceAll("\r", "");
  }

  /** Resolves once `wanted` was written so often. */
  async until(wanted: string, times = 1): Promise<void> {
    await this.#untilTrue(`"${wanted}"`, () => this.text.split(wanted).length > times);
  }

  /** Resolves once the person is asked for a permission the nth time. */
  async untilAsked(times: number): Promise<void> {
    const isAsked = () => this.text.split("? Allow ").length > times && /Answer 1 to \d › $/u.test(this.text);
    await this.#untilTrue(`question ${times}`, isAsked);
    await delay(QUIET_MS * 2); // what comes sooner was typed before the question
  }

  async #untilTrue(what: string, isTrue: () => boolean): Promise<void> {
    for (let waitedMs = 0; !isTrue(); waitedMs += POLL_MS) {
      if (waitedMs > WAIT_MS) throw new Error(`${what} did not come; there is:\n${this.text}`);
      await delay(POLL_MS);
    }
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

scenario(
  ["G450", "G451", "G452", "G454", "G455"],
  "the editor ends in the middle of a turn, the terminal answers what it waits for, and the editor finds everything",
  async () => {
    await using home = new Home();
    home.configure();
    const editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    editor.prompt(sessionId, ECHO).catch(() => {});
    await editor.waitForPermissionRequest();
    editor.kill("SIGKILL");
    await editor.exit;
    const listed = async () => JSON.parse((await home.tenon(["sessions", "list", "--json"])).stdout).sessions;
    if (!isOnPostgres) {
      expect(await listed()).toMatchObject([{ id: sessionId, state: "waiting", questions: 1 }]);
      expect((await home.tenon(["sessions"])).stdout).toContain("waiting (1 open)");
      const shown = (await home.tenon(["sessions", "show", "please"])).stdout;
      expect(shown).toMatch(/\? Allow .*echo/u);
      expect(shown).toContain(`tenon attach ${sessionId} answers it.`);
    }
    await using terminal = home.attach("--last");
    await terminal.untilAsked(1);
    expect(terminal.text).toContain(`Test editor › ${ECHO}`);
    terminal.type("y\r");
    await terminal.until("✓ ");
    await terminal.until("\n› ");
    terminal.type("and a second one\r");
    await terminal.until("None of the tools fits that");
    terminal.type("/quit\r");
    expect(await terminal.exited).toBe(0);
    await using back = await home.editor("allow");
    await back.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    const said = back.updates(sessionId).flatMap((update) => {
      if (update.sessionUpdate === "user_message_chunk" && update.content.type === "text") return [update.content.text];
      return update.sessionUpdate === "tool_call_update" && update.status === "completed" ? ["done"] : [];
    });
    expect(said).toEqual([ECHO, "done", "and a second one"]);
    expect(await listed()).toMatchObject(isOnPostgres ? [] : [{ state: "idle", questions: 0 }]); // it lists files
  },
  { ...NEEDS, timeoutMs: 120_000 },
);

scenario(
  ["G450", "G451", "G452", "G453"],
  "terminal, watcher and editor on one session: turns of others, an answer given elsewhere, Ctrl-C, /cancel",
  async () => {
    await using home = new Home();
    home.configure();
    await using editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    await editor.prompt(sessionId, "hello there");
    await using terminal = home.attach(sessionId.slice(0, 20));
    await using watcher = home.attach("hello", "--watch");
    await terminal.until("/quit leaves");
    await watcher.until("Watching.");
    const first = editor.prompt(sessionId, ECHO);
    await editor.waitForPermissionRequest();
    await terminal.untilAsked(1);
    terminal.type("\u0003");
    await terminal.until("/cancel stops the turn of Test editor. Ctrl-C again leaves; the work goes on.");
    await editor.request("_tenon/question/answer", await openQuestion(editor, sessionId));
    expect((await first).stopReason).toBe("end_turn");
    await terminal.until("· answered by Test editor (once)");
    await watcher.until("✓ ");
    expect(watcher.text).toContain(`Test editor › ${ECHO}`);
    expect(watcher.text).not.toContain("Your answer:");
    const second = editor.prompt(sessionId, ECHO);
    await terminal.untilAsked(2);
    terminal.type("n\r");
    expect((await second).stopReason).toBe("end_turn");
    const third = editor.prompt(sessionId, ECHO);
    await terminal.untilAsked(3);
    terminal.type("\u0003");
    await terminal.until("Ctrl-C again leaves", 2);
    terminal.type("\u0003");
    expect(await terminal.exited).toBe(130);
    await using again = home.attach("--last");
    await again.untilAsked(1);
    await home.tenon(["attach", "--last"], "/cancel\n");
    expect((await third).stopReason).toBe("cancelled");
    again.type("/quit\r");
    expect(await again.exited).toBe(0);
    watcher.type("\u0003");
    expect(await watcher.exited).toBe(130);
  },
  { ...NEEDS, timeoutMs: 120_000 },
);

/** The one question that is open, to be answered with a yes. */
async function openQuestion(editor: AcpClient, sessionId: string): Promise<object> {
  const view: unknown = await editor.request("_tenon/session/view", { sessionId });
  const [id] = /"questions":\[\{"id":"([^"]+)"/u.exec(JSON.stringify(view))?.slice(1) ?? [];
  return { sessionId, questionId: id, answer: "once" };
}

scenario(
  ["G450", "G452"],
  "without a terminal: prompts from the input, updates as NDJSON, and clear errors",
  async () => {
    await using home = new Home();
    home.configure();
    const nothing = await home.tenon(["attach"]);
    expect(nothing).toMatchObject({ code: 2 });
    expect(nothing.stderr).toContain("say which session");
    await using editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    await editor.prompt(sessionId, "hello there");
    const said = await home.tenon(["attach", "--last"], "what now\n");
    expect(said).toMatchObject({ code: 0 });
    expect(said.stdout).toContain("None of the tools fits that");
    expect(said.stdout).not.toContain("hello there");
    const denied = await home.tenon(["attach", "--last", "--json"], `${ECHO}\n`);
    expect(denied.code).toBe(5);
    expect(
      denied.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
        .at(-1),
    ).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    const allowed = await home.tenon(["attach", "--last", "--yes"], `${ECHO}\n`);
    expect(allowed).toMatchObject({ code: 0, stderr: expect.stringContaining("✓") });
    const unknown = await home.tenon(["attach", "nonsense"]);
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.stderr + unknown.stdout).toContain('there is no session "nonsense"');
    if (isOnPostgres) return; // a plain tenon acp has files
    await using plain = await startTenon(home);
    await plain.initialize();
    const { sessionId: own } = await plain.newSession({ cwd: home.path });
    await plain.prompt(own, "mine alone");
    const busy = await home.tenon(["attach", own, "--json"]);
    expect(busy.code).toBe(1);
    expect(busy.stderr).toMatch(/process \d+[\s\S]*--gateway/u);
  },
  { timeoutMs: 120_000 },
);

scenario(
  ["G456"],
  "a real gateway posts of a question that waits, and of a turn that ended with nobody there",
  async () => {
    const posted: { event: string; sessionId: string }[] = [];
    const inbox = createServer((request, response) => {
      const onBody = (body: string) => {
        posted.push(JSON.parse(body));
        response.end();
      };
      readBody(request).then(onBody, () => response.destroy());
    });
    const url = await listenOnLoopback(inbox);
    try {
      await using home = new Home();
      home.configure({ gateway: { notify: { url, after: 0 } } });
      const editor = await home.editor();
      const { sessionId } = await editor.newSession({ cwd: home.path });
      await editor.prompt(sessionId, "hello there"); // while somebody is there its end is no news
      editor.prompt(sessionId, ECHO).catch(() => {});
      const asked = { event: "question_waiting", sessionId };
      await expect.poll(() => posted, { timeout: WAIT_MS }).toMatchObject([asked]);
      editor.kill("SIGKILL");
      await editor.exit;
      await home.tenon(["attach", "--last"], "/cancel\n");
      const left = await home.editor("allow");
      await left.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
      left.prompt(sessionId, 'run_command {"command":"sleep 1"}').catch(() => {});
      await left.waitForUpdate(sessionId, ({ sessionUpdate, ...update }) => {
        return sessionUpdate === "tool_call_update" && "status" in update && update.status === "in_progress";
      });
      left.kill("SIGKILL");
      await left.exit;
      const ended = { event: "turn_ended", sessionId, stopReason: "end_turn" };
      await expect.poll(() => posted.at(-1), { timeout: WAIT_MS }).toMatchObject(ended);
    } finally {
      await closeListener(inbox);
    }
  },
  { timeoutMs: 120_000 },
);
