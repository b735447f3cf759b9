// The chat's own commands in a real pseudo-terminal, and pictures in the ways that terminals draw them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";
import { DONE, expectScreen, lastRequest, openChat, projectIn } from "./terminal-stage.js";
import { IN_TMUX } from "./tmux.js";

const LOGGED = { needs: ["tmux", "script"], platform: "linux" } as const;
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";

scenario(
  ["Z121"],
  "/diff shows what the session changed, /undo takes it back unless it was changed since, /permissions says what is granted",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    const file = join(cwd, "app.ts");
    writeFileSync(file, "one\ntwo\n");
    const edit = (old_text: string, new_text: string) =>
      answerToolCall("edit_file", { path: file, edits: [{ old_text, new_text }] });
    provider.reply(edit("two\n", "2\n"), DONE, edit("2\n", "II\n"), answerText("Done again."));
    await using terminal = await openChat(home, provider, { cwd, rows: 50 });
    await terminal.send("/diff");
    await terminal.until("has changed no file");
    await terminal.send("change it");
    await terminal.asked();
    await terminal.press("2"); // edits for the rest of this session
    await terminal.until("Done.");
    await terminal.send("once more");
    const changed = await terminal.until("Done again.");
    // The change is shown once: not as the tool's own text too.
    expect(changed).toContain("+ II");
    expect(changed).not.toContain("@@ ");
    await terminal.send("/permissions");
    await terminal.until("file edits");
    await terminal.send("/diff");
    await terminal.until("+ II");
    await terminal.send("/undo");
    await terminal.until("taken back: app.ts");
    expect(readFileSync(file, "utf8")).toBe("one\n2\n");
    writeFileSync(file, "mine\n");
    await terminal.send("/undo");
    const screen = await terminal.until("was changed since");
    expect(readFileSync(file, "utf8")).toBe("mine\n");
    expectScreen("diff-and-undo", screen.slice(screen.indexOf("› /permissions")), home);
  },
  IN_TMUX,
);

scenario(
  ["Z121"],
  "/new begins another session, /sessions lists them, /resume goes back, /export writes one into a file, /copy copies the answer",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    provider.reply(answerText("The first **answer**."), answerText("The second answer."));
    await using terminal = await openChat(home, provider, { cwd, rows: 50, columns: 100, log: "chat.log" });
    await terminal.send("/export");
    await terminal.until("nothing was said in this session yet");
    await terminal.send("first prompt");
    await terminal.until((screen) => screen.includes("The first answer.") && screen.includes("tokens"));
    await terminal.send("/copy");
    await terminal.until("characters copied");
    const copied = Buffer.from("The first **answer**.").toString("base64");
    expect(terminal.written("chat.log")).toContain(`\u001b]52;c;${copied}\u0007`);
    await terminal.send("/new");
    await terminal.until("A new session.");
    await terminal.send("second prompt");
    await terminal.until("The second answer.");
    expect(lastRequest(provider)).not.toContain("first prompt");
    await terminal.send("/sessions");
    await terminal.until("/resume NUMBER goes on with one.");
    await terminal.send("/resume 2");
    await terminal.until("Going on with session");
    await terminal.send("/export talk.md");
    const screen = await terminal.until("written to");
    expect(readFileSync(join(cwd, "talk.md"), "utf8")).toContain("The first **answer**.");
    expectScreen("sessions", screen.slice(screen.indexOf("› /sessions")), home);
    await terminal.send("/export talk.html");
    await terminal.until(/written to .*talk\.html/u);
    expect(readFileSync(join(cwd, "talk.html"), "utf8")).toContain("<strong>answer</strong>");
    await terminal.send("/export talk.html");
    expect(await terminal.until("is there already")).toContain("Name another file: /export FILE.");
  },
  LOGGED,
);

scenario(
  ["Z121"],
  "/mode and /thinking say and set what there is, /init asks the model for AGENTS.md, /help lists them all",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    provider.reply(DONE);
    const env = { TENON_MODEL: "openai/gpt-5", OPENAI_API_KEY: "k", OPENAI_BASE_URL: provider.url };
    await using terminal = await openChat(home, provider, { cwd, rows: 60, columns: 110, env });
    await terminal.send("/help");
    expectScreen("help", await terminal.until("Esc or Ctrl-C stops its answer."), home);
    await terminal.send("/mode plan");
    await terminal.until("mode plan");
    await terminal.send("/mode");
    await terminal.until("▸ plan");
    await terminal.send("/mode nonsense");
    await terminal.until("error:");
    await terminal.send("/thinking high");
    await terminal.until("thinking: high");
    await terminal.send("/init");
    const screen = await terminal.until("Done.");
    expect(lastRequest(provider)).toContain("AGENTS.md");
    expectScreen("mode-and-thinking", screen.slice(screen.indexOf("› /mode plan")), home);
  },
  IN_TMUX,
);

scenario(
  ["Z122"],
  "a tool's picture is drawn by kitty's protocol, iTerm's or as sixels where the terminal says that it has one, and always kept as a file",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    writeFileSync(join(cwd, "dot.png"), Buffer.from(PNG, "base64"));
    const terminals = [
      { name: "kitty", env: { TERM: "xterm-kitty" }, drawn: `\u001b_Ga=T,f=100` },
      { name: "iterm", env: { TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, drawn: "\u001b]1337;File=inline=1" },
      { name: "sixel", env: { TERM: "foot" }, drawn: `\u001bP0;1q"1;1;1;1` },
      { name: "none", env: { TERM: "xterm-256color" }, drawn: undefined },
    ];
    for (const { name, env, drawn } of terminals) {
      provider.reply(answerToolCall("read_file", { path: join(cwd, "dot.png") }), DONE);
      await using terminal = await openChat(home, provider, { cwd, env, log: `${name}.log`, columns: 120 });
      await terminal.send("read it");
      await terminal.until("Done.");
      const [, path = ""] = /kept in (\S+\.png)/u.exec(await terminal.all()) ?? [];
      expect(existsSync(path), name).toBe(true);
      const written = terminal.written(`${name}.log`);
      if (drawn === undefined) expect(written).not.toMatch(/\u001b_G|\u001b\]1337|\u001bP/u);
      else expect(written).toContain(drawn);
    }
  },
  LOGGED,
);
