// `tenon attach` and `--resume` of a session that the gateway has, in a real pseudo-terminal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { echoTool, scriptedServer } from "../../src/testing/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";
import { expectScreen, projectIn } from "./terminal-stage.js";
import { IN_TMUX, TmuxTerminal } from "./tmux.js";

/** Asks for a permission before the call is made. */
const ECHO = "please echo for the record";

/** A home with its local gateway, which is ended at the end. */
class Home extends TemporaryFolder implements AsyncDisposable {
  async [Symbol.asyncDispose](): Promise<void> {
    const options = { env: cleanEnv(this.path), cwd: this.path };
    await runCommand(agentNode(), [TENON, "gateway", "stop", "--drain", "0"], options);
    this[Symbol.dispose]();
  }
}

scenario(
  ["Z124"],
  "attach shows the session of an editor with its question, whose answer counts; --resume of it attaches, and it goes on after both left",
  async () => {
    await using home = new Home();
    const cwd = projectIn(home);
    const { command, args, env } = scriptedServer({ tools: [echoTool()] });
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
    await using editor = await startTenon(home, { words: ["--gateway"], permissions: "wait" });
    await editor.initialize({ clientInfo: { name: "test-editor", title: "Test editor", version: "1" } });
    const { sessionId } = await editor.newSession({ cwd });
    const answered = editor.prompt(sessionId, ECHO);
    answered.catch(() => {}); // awaited below, unless something fails before
    await editor.waitForPermissionRequest();
    await using attached = await TmuxTerminal.start(home, { cwd, columns: 100, words: ["attach", sessionId] });
    const asked = await attached.asked();
    // When the server's notice comes is not decided.
    const shown = asked.slice(asked.indexOf("Test editor ›")).replace(/^· MCP server .*\n/mu, "");
    expectScreen("attached", shown, home);
    expect(shown).not.toContain("no outcome");
    // Esc stops what this person began, and nothing else.
    await attached.press("Escape");
    await attached.until("/cancel stops the turn of Test editor.");
    await attached.press("1");
    expect((await answered).stopReason).toBe("end_turn");
    await attached.until("mode ask");
    await attached.send("!echo from my shell");
    await attached.until(/^ {2}from my shell$/mu);
    await attached.send(ECHO);
    await attached.until((screen) => screen.includes("❯ 1.") && screen.includes("Esc stops the turn"));
    await attached.press("Escape");
    await attached.until("(cancelled)");
    await attached.send("/quit");
    await attached.exited();
    expect(await attached.screen()).toContain(`tenon attach ${sessionId} comes back to it.`);
    await using resumed = await TmuxTerminal.start(home, { cwd, columns: 100, words: ["chat", "--resume", sessionId] });
    await resumed.until("Attached to");
    expect(await resumed.all()).toContain(`› ${ECHO}`);
    await resumed.send("/quit");
    await resumed.exited();
    expect(await resumed.screen()).toContain("comes back to it.");
  },
  IN_TMUX,
);
