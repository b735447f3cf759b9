// Commands behind the built `tenon acp`: in a terminal of the client where it has them, else here; and pages of the web.
import { createServer } from "node:http";
import { expect } from "vitest";
import { hasProc, listProcesses } from "../../src/testing/kit/leaks.js";
import { closeListener, listenOnLoopback } from "../../src/testing/kit/loopback.js";
import { HAS_TERMINALS, inEditor, type Project } from "./builtin/editor.js";
import { scenario } from "./scenario.js";

/** Prints `words`, which do not stand in the command's own text, and waits for the file `go`. */
const untilGo = (words: string) =>
  `printf '%s\\n' ${words.split("").join("''")}; while [ ! -e go ]; do sleep 0.02; done`;

/** A zombie is dead: it only waits for whoever started it, or for the system. */
function isAlive(pid: number): boolean {
  if (hasProc) return listProcesses().some((one) => one.pid === pid);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function pidIn(project: Project, name: string): Promise<number> {
  const written = () => {
    try {
      return Number(project.read(name));
    } catch {
      return 0;
    }
  };
  await expect.poll(written, { timeout: 10_000 }).toBeGreaterThan(0);
  return written();
}

const TREE = "sleep 300 & echo $! > child.tmp; mv child.tmp child; echo $$ > own.tmp; mv own.tmp own; wait";

scenario(["L22"], "a command runs in the client's terminal, which is embedded at once and released in the end", () =>
  inEditor({ capabilities: HAS_TERMINALS }, async (editor) => {
    const { desk, project } = editor;
    const result = await editor.call("run_command", { command: "echo from; echo the terminal; exit 3" });
    expect(result).toMatch(/from.*the terminal.*exit code 3/s);
    expect(editor.questions).toHaveLength(1);
    expect(editor.questions[0]?.toolCall).toMatchObject({
      kind: "execute",
      rawInput: { command: "echo from; echo the terminal; exit 3" },
    });
    // The first one showed that commands arrive as they are sent.
    expect([...desk.terminals.keys()]).toEqual(["t1", "t2"]);
    expect(desk.terminals.get("t2")).toMatchObject({ isReleased: true, request: { cwd: project.path } });
    const running = editor.updates.find((update) => JSON.stringify(update).includes('"terminalId":"t2"'));
    expect(running).toMatchObject({ status: "in_progress", content: [{ type: "terminal", terminalId: "t2" }] });
    expect(editor.cards).toMatchObject([{ status: "failed", content: [{ type: "terminal", terminalId: "t2" }] }]);
  }),
);

scenario(["L22"], "cancel and the time limit end a command in the client's terminal, and release it", () =>
  inEditor({ capabilities: HAS_TERMINALS }, async (editor) => {
    const { client, desk, sessionId } = editor;
    const turn = editor.begin("run_command", { command: TREE });
    const child = await pidIn(editor.project, "child");
    await editor.seen('"terminalId":"t2"');
    await client.cancel(sessionId);
    expect((await turn).stopReason).toBe("cancelled");
    await expect.poll(() => desk.terminals.get("t2")?.isReleased).toBe(true);
    await expect.poll(() => isAlive(child)).toBe(false);
    const result = await editor.call("run_command", { command: "echo begun; sleep 300", timeout_seconds: 1 });
    expect(result).toMatch(/Ended after 1 s without having finished.*begun/s);
    expect(desk.terminals.get("t3")?.isReleased).toBe(true);
  }),
);

scenario(["L22", "L15"], "without terminals a command runs here: streamed, with its exit code, and without keys", () =>
  inEditor({}, async (editor) => {
    const turn = editor.begin("run_command", { command: `${untilGo("first")}; env; exit 0` });
    const shown = await editor.seen("first");
    expect(shown).toMatchObject({ sessionUpdate: "tool_call_update", status: "in_progress" });
    editor.project.write("go", "");
    expect((await turn).stopReason).toBe("end_turn");
    const [card] = editor.cards;
    expect(card).toMatchObject({ kind: "execute", status: "completed" });
    expect(JSON.stringify(card)).toContain("exit code 0");
    expect(JSON.stringify(card)).toContain("GIT_TERMINAL_PROMPT=0");
    expect(JSON.stringify(card)).not.toContain("API_KEY");
  }),
);

scenario(["L22"], "a local command over its time, or cancelled, is ended with everything it started", () =>
  inEditor({}, async (editor) => {
    const { client, sessionId, project } = editor;
    const late = await editor.call("run_command", { command: "echo begun; sleep 300 & sleep 300", timeout_seconds: 1 });
    expect(late).toMatch(/Ended after 1 s without having finished.*begun/s);
    const turn = editor.begin("run_command", { command: TREE });
    const [own, child] = [await pidIn(project, "own"), await pidIn(project, "child")];
    await client.cancel(sessionId);
    expect((await turn).stopReason).toBe("cancelled");
    for (const pid of [own, child]) await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    expect(editor.cards.at(-1)).toMatchObject({ status: "failed" });
  }),
);

scenario(["L22"], "a command in the background is read and stopped by its id, and the rest ends with the session", () =>
  inEditor({}, async (editor) => {
    const { client, sessionId, project } = editor;
    expect(await editor.call("run_command", { command: TREE, background: true })).toContain("in the background as c1");
    const child = await pidIn(project, "child");
    const words = await editor.call("run_command", { command: untilGo("ready"), background: true });
    expect(words).toContain("c2");
    await expect.poll(() => editor.call("command_output", { id: "c2" })).toMatch(/ready.*still running/);
    project.write("go", "");
    expect(await editor.call("command_output", { id: "c2", wait_seconds: 20 })).toMatch(/Nothing new.*exit code 0/s);
    expect(isAlive(child)).toBe(true);
    expect(await editor.call("stop_command", { id: "c1" })).toContain("c1 has been ended");
    expect(isAlive(child)).toBe(false);
    expect(await editor.call("stop_command", { id: "c9" })).toContain("there are c1, c2");
    await editor.call("run_command", { command: "echo $$ > last.tmp; mv last.tmp last; sleep 300", background: true });
    const last = await pidIn(project, "last");
    await client.closeSession(sessionId);
    expect(isAlive(last)).toBe(false);
  }),
);

scenario(
  ["L23", "L21"],
  "fetch_url is asked about, and reaches no private address whatever the person says",
  async () => {
    let visits = 0;
    const server = createServer((_, response) => {
      visits += 1;
      response.end("inside");
    });
    const origin = await listenOnLoopback(server);
    try {
      await inEditor({}, async (editor) => {
        const urls = [
          `${origin}/secret`,
          origin.replace("http:", "https:").replace("127.0.0.1", "localhost"),
          "http://169.254.169.254/latest/meta-data",
          "https://10.0.0.1/",
          "https://[::1]/",
          "http://example.com/",
          "file:///etc/passwd",
        ];
        const results = await editor.calls(...urls.map((url) => ({ name: "fetch_url", arguments: { url } })));
        for (const [index, result] of results.entries()) expect(result, urls[index]).toContain("cannot be used");
        expect(editor.questions).toHaveLength(urls.length);
        expect(editor.cards).toMatchObject(urls.map(() => ({ kind: "fetch", status: "failed" })));
      });
    } finally {
      await closeListener(server);
    }
    expect(visits).toBe(0);
  },
);
