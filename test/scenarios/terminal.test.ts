// `tenon chat` in a real pseudo-terminal: what a person sees at each step, compared with a kept screen.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { QUIET_MS } from "../../src/cli/terminal/live/menu.js";
import { scriptedServer } from "../../src/testing/index.js";
import { type Answer, answerText, answerToolCall, fakeProvider, gate } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";
import { DONE, expectScreen, lastRequest, MODEL, openChat, projectIn } from "./terminal-stage.js";
import { IN_TMUX, TmuxTerminal } from "./tmux.js";

scenario(
  ["Z100"],
  "six pasted lines are one prompt, with the last line that has no end",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(DONE);
    await using terminal = await openChat(home, provider);
    await terminal.paste("function x() {\n  one();\n  two();\n  three();\n}\nand explain");
    expectScreen("paste", await terminal.until("and explain"), home);
    await terminal.press("Enter");
    await terminal.until("Done.");
    expect(provider.requests).toHaveLength(1);
    expect(lastRequest(provider)).toContain("function x() {\\n  one();\\n  two();\\n  three();\\n}\\nand explain");
    // A long one is sent whole, and does not push everything else out of the terminal's memory.
    provider.reply(answerText("Done again."));
    const rows = Array.from({ length: 3_000 }, (_, index) => `row ${index} of it`);
    await terminal.paste(rows.join("\n"));
    await terminal.until("[Pasted text 1: 3000 lines]");
    await terminal.press("Enter");
    await terminal.until("Done again.");
    expect(lastRequest(provider)).toContain(rows.join("\\n"));
    expect(await terminal.all()).toContain("… 2960 more lines (Ctrl-O)");
    expect(await terminal.all()).not.toContain("row 50 of it");
    await terminal.press("C-o");
    await terminal.until("row 2999 of it");
    await terminal.press("C-o");
    await terminal.until((screen) => screen.includes("Done again.") && !screen.includes("row 2999"));
  },
  IN_TMUX,
);

scenario(
  ["Z100"],
  "a pasted text that begins with an exclamation mark is a prompt, and not run",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(DONE);
    const cwd = projectIn(home);
    await using terminal = await openChat(home, provider, { cwd });
    await terminal.paste(`! touch ran\n${"and so on\n".repeat(20)}`);
    await terminal.until("[Pasted text 1: 22 lines]");
    await terminal.press("Enter");
    await terminal.until("Done.");
    expect(lastRequest(provider)).toContain("! touch ran\\nand so on");
    expect(existsSync(join(cwd, "ran"))).toBe(false);
  },
  IN_TMUX,
);

scenario(
  ["Z101", "Z102"],
  "a server's notice and a change of the window's size leave a wrapped prompt as it was typed",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const { command, args, env } = scriptedServer({
      tools: [{ name: "t", description: "t", reply: { kind: "text", text: "x" } }],
    });
    await using terminal = await openChat(home, provider, { columns: 60 });
    const words = "a prompt that is longer than one line of this window and goes on in the next one";
    await terminal.type(words);
    await terminal.until("in the next one");
    // The configuration is followed while the chat runs: its servers come, and say so.
    const configure = (...names: string[]) => {
      const mcpServers = Object.fromEntries(names.map((name) => [name, { command, args, env }]));
      writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers }));
    };
    configure("one");
    expectScreen("notice", await terminal.until("is ready"), home);
    configure("one", "two", "three");
    const shown = await terminal.until((screen) => screen.split("is ready").length === 4);
    // Where the line is broken its blank is not seen.
    expect(shown.replaceAll(/\s/gu, "").split(words.replaceAll(" ", ""))).toHaveLength(2);
    await terminal.resize(50, 24);
    const narrow = await terminal.until("of this\n  window and");
    expectScreen("resized", narrow.slice(narrow.indexOf("› a prompt")), home);
    await terminal.resize(80, 24);
    const wide = await terminal.until(
      (screen) => screen.includes("servers 3/3") && screen.includes("goes on in the nex"),
    );
    expect(wide.split("a prompt that is longer")).toHaveLength(2);
    expect((await terminal.all()).split("is ready")).toHaveLength(4);
    await terminal.press("C-u");
  },
  IN_TMUX,
);

scenario(
  ["Z112"],
  "the status line counts servers that still start, and of what the chat showed at first nothing is kept above it",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const { command, args, env } = scriptedServer({
      tools: [{ name: "t", description: "t", reply: { kind: "text", text: "x" } }],
    });
    const silent = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] };
    const mcpServers = { quick: { command, args, env }, silent, mute: silent };
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers }));
    await using terminal = await openChat(home, provider);
    await terminal.until("servers 1/3");
    const all = await terminal.all();
    expect(all.split("openai-compatible/m")).toHaveLength(2);
    expect(all.trimStart()).toMatch(/^· MCP server "quick" is ready/u);
  },
  IN_TMUX,
);

scenario(
  ["Z103", "Z110"],
  "Markdown is rendered: headings, lists with hanging indents, tables of wide characters, code, quotes; escapes are shown",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const text = [
      "# A heading\n\nSome **bold** words and `code`, in a paragraph that is long enough to be broken between two of its words.\n",
      "1. first\n2. a second item that is so long that it has to go on in the next line of the window\n   - inner\n- [x] task\n",
      "| name | 大小 | emoji |\n|---|--:|---|\n| 你好 | 1 | 👩‍👩‍👧‍👦 |\n| abc | 22 | 🙂 |\n",
      "```ts\nconst answer = 42; // why\n```\n",
      "> a quote\n\nevil \u001b[31mred\u001b]0;title\u0007 می‌خواهم and [a link](https://example.com/x)\n",
    ].join("\n");
    provider.reply(answerText(text, 40));
    await using terminal = await openChat(home, provider, { columns: 70, rows: 40 });
    await terminal.type("你好 👩‍👩‍👧‍👦 ok");
    await terminal.press("Enter");
    const screen = await terminal.until("a link");
    expectScreen("markdown", screen, home);
    expect(screen).toContain("␛[31mred");
    expect(await terminal.coloured()).toMatch(/\u001b\[35m?const/u);
  },
  IN_TMUX,
);

scenario(
  ["Z104"],
  "Ctrl-C after an earlier cancel only clears the line; Esc stops an answer; two within a moment quit and say how to go on",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const hold = gate();
    const slow: Answer = {
      kind: "answer",
      parts: [
        { kind: "text", text: "working" },
        { kind: "pause", until: hold.opened },
      ],
    };
    provider.reply(slow, slow);
    await using terminal = await openChat(home, provider);
    await terminal.send("long");
    await terminal.until("working");
    await terminal.press("C-c");
    await terminal.until("(cancelled)");
    await terminal.send("again");
    await terminal.until((screen) => screen.split("working").length === 3);
    await terminal.press("Escape");
    // Esc is no first Ctrl-C.
    expect(await terminal.until((screen) => screen.split("(cancelled)").length === 3)).not.toContain("again quits");
    // The status is back: the time for a second Ctrl-C is over.
    await terminal.until("mode ask");
    await terminal.type("half a prompt");
    await terminal.until("half a prompt");
    await terminal.press("C-c");
    const cleared = await terminal.until((screen) => screen.includes("Ctrl-C again quits") && !screen.includes("half"));
    expectScreen("ctrl-c", cleared, home);
    await terminal.until("mode ask");
    await terminal.type("still here");
    await terminal.until("still here");
    await terminal.press("C-c", "C-c");
    expect(await terminal.exited()).toBe(130);
    expect(await terminal.screen()).toMatch(/To go on: tenon chat --resume [0-9a-f-]{36}/u);
    hold.open();
  },
  IN_TMUX,
);

scenario(
  ["Z105"],
  "an edit is shown as a diff before the yes; one that cannot apply is not asked about; a no carries words to the model",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    const file = join(cwd, "app.ts");
    writeFileSync(file, "one\ntwo\nthree\nfour\nfive\n");
    const edit = (old_text: string, new_text: string) =>
      answerToolCall("edit_file", { path: file, edits: [{ old_text, new_text }] });
    provider.reply(edit("not there", "x"), edit("three\n", "3\nthree and a half\n"), edit("two\n", "2\n"), DONE);
    await using terminal = await openChat(home, provider, { rows: 50, cwd });
    await terminal.send("change it");
    const asked = await terminal.asked();
    expect(asked.split("? Allow")).toHaveLength(2);
    expect(readFileSync(file, "utf8")).toContain("three\n");
    expectScreen("diff-before-yes", asked, home);
    await terminal.press("Enter");
    await terminal.until((screen) => screen.split("? Allow").length === 3 && screen.includes("❯ 1."));
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\n3\nthree and a half\nfour\nfive\n");
    await terminal.press("4");
    await terminal.until("instead? ›");
    await terminal.send("leave the second line alone");
    await terminal.until("Done.");
    expect(lastRequest(provider)).toContain("leave the second line alone");
    expect(readFileSync(file, "utf8")).toContain("two\n");
  },
  IN_TMUX,
);

scenario(
  ["Z106", "Z107", "Z112"],
  "the plan is a check list, what is typed meanwhile is a queue, and the status line has model, mode, branch and servers",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const hold = gate();
    const entries = [
      { content: "Look at it", priority: "high", status: "completed" },
      { content: "Change it", priority: "high", status: "in_progress" },
      { content: "Test it", priority: "low", status: "pending" },
    ];
    provider.reply(
      answerToolCall("update_plan", { entries }),
      {
        kind: "answer",
        parts: [
          { kind: "text", text: "It is done." },
          { kind: "pause", until: hold.opened },
        ],
      },
      DONE,
    );
    const cwd = projectIn(home);
    mkdirSync(join(cwd, ".git"));
    writeFileSync(join(cwd, ".git", "HEAD"), "ref: refs/heads/topic\n");
    await using terminal = await openChat(home, provider, { cwd, columns: 100 });
    await terminal.send("make a plan");
    await terminal.until("It is done.");
    await terminal.send("and then this");
    const screen = await terminal.until("queued › and then this");
    expectScreen("plan-and-queue", screen, home);
    expect(screen).toContain("(topic)");
    await terminal.press("BTab");
    await terminal.until("mode: plan");
    hold.open();
    await terminal.until((shown) => shown.includes("Done.") && shown.includes("Plan: 1 of 3 done"));
    await terminal.until("mode plan");
    expect(lastRequest(provider)).toContain("and then this");
  },
  IN_TMUX,
);

scenario(
  ["Z108"],
  "a session is gone on with after the chat was killed, by --continue and by --resume with its id",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(answerText("The word is **oak**."), DONE);
    const cwd = projectIn(home);
    {
      await using killed = await openChat(home, provider, { cwd });
      await killed.send("remember the word oak");
      await killed.until((screen) => screen.includes("The word is oak.") && screen.includes("tokens"));
      process.kill(killed.pid(), "SIGKILL");
      await killed.exited();
    }
    await using terminal = await openChat(home, provider, { cwd, words: ["chat", "--continue"] });
    expectScreen("resumed", await terminal.until("Going on with session"), home);
    await terminal.send("which word?");
    await terminal.until("Done.");
    expect(lastRequest(provider)).toContain("remember the word oak");
    await terminal.send("/quit");
    expect(await terminal.exited()).toBe(0);
    const [, id = ""] = /--resume ([0-9a-f-]{36})/u.exec(await terminal.screen()) ?? [];
    await using again = await openChat(home, provider, { cwd, words: ["chat", "--resume", id.slice(0, 12)] });
    expect(await again.until("Going on with session")).toContain("which word?");
    await again.press("C-d");
    expect(await again.exited()).toBe(0);
  },
  IN_TMUX,
);

scenario(
  ["Z109"],
  "a dumb terminal gets labelled lines and numbered answers, and not one escape sequence",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    provider.reply(
      answerToolCall("write_file", { path: join(cwd, "a.txt"), content: "text\n" }),
      answerText("# Done\n\nIt is **written**."),
    );
    const env = { TERM: "dumb" };
    await using terminal = await TmuxTerminal.start(home, {
      ...{ cwd, log: "plain.log", env: { ...MODEL, TENON_BASE_URL: provider.url, ...env } },
    });
    await terminal.until((screen) => screen.includes("Type a prompt") && screen.includes("›"));
    await terminal.send("write it");
    await terminal.until("Answer 1 to 5 ›");
    await delay(QUIET_MS * 2); // what comes sooner was typed before the question
    await terminal.send("1");
    await terminal.until("It is **written**.\n›");
    // How much of the arguments fits depends on how long it took.
    const screen = (await terminal.screen()).replace(/content="[^"(]*… \(/u, "content=… (");
    expectScreen("plain", screen, home);
    await terminal.send("/quit");
    expect(await terminal.exited()).toBe(0);
    expect(terminal.written("plain.log")).toContain("Answer:");
    expect(terminal.written("plain.log")).not.toContain("\u001b");
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("text\n");
    // Whoever asks for it gets the same on a terminal that has colours.
    await using asked = await TmuxTerminal.start(home, {
      cwd,
      log: "asked.log",
      words: ["chat", "--plain"],
      env: MODEL,
    });
    await asked.until((shown) => shown.includes("Type a prompt") && shown.includes("›"));
    for (const words of ["/help", "/nonsense", "/quit"]) await asked.send(words);
    expect(await asked.exited()).toBe(0);
    expect(asked.written("asked.log")).toContain("There is no command /nonsense");
    expect(asked.written("asked.log")).not.toContain("\u001b");
  },
  { needs: ["tmux", "script"], platform: "linux" },
);

scenario(
  ["Z111", "Z117"],
  "commands and files are completed, history outlives the chat, Ctrl-R finds, the editor writes, !command runs; unknown commands are refused",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    mkdirSync(join(cwd, "src"));
    writeFileSync(join(cwd, "src", "joint.ts"), "export const oak = 1;\n");
    const editor = join(home.path, "editor.sh");
    writeFileSync(editor, "#!/bin/sh\nprintf 'from the editor' > \"$1\"\n", { mode: 0o755 });
    provider.reply(DONE, DONE);
    {
      await using terminal = await openChat(home, provider, { cwd, env: { EDITOR: editor } });
      await terminal.type("/perm");
      await terminal.until("/permissions");
      await terminal.press("C-u");
      await terminal.send("/nonsense now");
      expectScreen("unknown-command", await terminal.until("There is no command /nonsense"), home);
      expect(provider.requests).toHaveLength(0);
      await terminal.send("!echo from-my-shell");
      await terminal.until((screen) => screen.split("from-my-shell").length === 3);
      await terminal.type("look at @jnt");
      await terminal.until("@src/joint.ts");
      await terminal.press("Tab", "C-j");
      await terminal.send("please");
      await terminal.until("Done.");
      for (const part of ["export const oak", "from-my-shell", "look at @src/joint.ts \\nplease"])
        expect(lastRequest(provider)).toContain(part);
      await terminal.press("C-g");
      await terminal.until("› from the editor");
      await terminal.press("C-c");
      await terminal.send("/quit");
      await terminal.exited();
    }
    await using next = await openChat(home, provider, { cwd });
    await next.press("C-r");
    await next.type("joint");
    await next.until("search: joint");
    await next.press("Enter");
    await next.until("› look at @src/joint.ts");
    await next.press("C-c");
    await next.until("Ctrl-C again quits");
    await next.press("Up");
    await next.until("› /quit");
  },
  IN_TMUX,
);

scenario(
  ["Z113", "Z118"],
  "long results are folded and Ctrl-O unfolds them; an outage is one line that counts down; pictures are kept as files",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    writeFileSync(join(cwd, "long.txt"), Array.from({ length: 60 }, (_, index) => `row ${index}`).join("\n"));
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";
    writeFileSync(join(cwd, "dot.png"), Buffer.from(png, "base64"));
    provider.reply(
      answerToolCall("read_file", { path: join(cwd, "long.txt") }),
      answerToolCall("read_file", { path: join(cwd, "dot.png") }),
      { kind: "error", status: 429, message: "slow down", headers: { "retry-after": "2" } },
      DONE,
    );
    await using terminal = await openChat(home, provider, { cwd, rows: 40, columns: 120 });
    await terminal.send("read them");
    await terminal.until("trying again in 2 s");
    await terminal.until("trying again in 1 s");
    const screen = await terminal.until((shown) => shown.includes("Done.") && shown.includes("tokens"));
    expectScreen("folded", screen, home);
    expect(screen).toContain("more lines (Ctrl-O)");
    expect(screen).not.toContain("row 50");
    expect(screen).not.toContain("slow down");
    const [, path = ""] = /kept in (\S+\.png)/u.exec(await terminal.all()) ?? [];
    expect(readFileSync(path).toString("base64")).toBe(png);
    await terminal.press("C-o");
    expectScreen("unfolded", await terminal.until((shown) => shown.includes("row 50")), home);
    await terminal.press("C-o");
    await terminal.until((shown) => shown.includes("Done.") && !shown.includes("row 50"));
  },
  IN_TMUX,
);

scenario(
  ["Z115"],
  "what was typed before the question came stays in the line, and answers nothing",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    const hold = gate();
    const call = {
      kind: "tool_call",
      name: "write_file",
      arguments: { path: join(cwd, "a.txt"), content: "x" },
    } as const;
    provider.reply(
      { kind: "answer", parts: [{ kind: "text", text: "wait" }, { kind: "pause", until: hold.opened }, call] },
      DONE,
    );
    await using terminal = await openChat(home, provider, { cwd });
    await terminal.send("go");
    await terminal.until("wait");
    hold.open();
    // One burst of keys that begins before the question and goes on after it.
    for (let round = 0; round < 12; round += 1) await terminal.type("1y");
    await terminal.press("Enter");
    // Whether the last key, Enter, came before the question or after it is not decided.
    const asked = (await terminal.asked()).replace(/^queued › (?:1y)+\n/mu, "");
    expectScreen("typed-ahead", asked, home);
    expect(existsSync(join(cwd, "a.txt"))).toBe(false);
    await terminal.press("3");
    await terminal.until((screen) => screen.includes("Done.") || screen.includes("1y1y"));
    expect(existsSync(join(cwd, "a.txt"))).toBe(false);
  },
  IN_TMUX,
);

scenario(
  ["Z119"],
  "a question rings the bell and is told to the desktop, unless the configuration says off",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    for (const notices of ["on", "off"]) {
      writeFileSync(join(home.path, "config.json"), JSON.stringify({ chat: { notices } }));
      provider.reply(answerToolCall("write_file", { path: join(cwd, "a.txt"), content: "text\n" }), DONE);
      await using terminal = await openChat(home, provider, { cwd, log: `${notices}.log` });
      await terminal.send("write it");
      await terminal.asked();
      await terminal.press("3");
      await terminal.until("Done.");
      expect(terminal.written(`${notices}.log`).includes("\u001b]9;asks: Write a.txt"), notices).toBe(notices === "on");
    }
  },
  { needs: ["tmux", "script"], platform: "linux" },
);

scenario(
  ["Z120"],
  "the first start without a model is one question, and the second none",
  async () => {
    using home = new TemporaryFolder();
    {
      await using terminal = await TmuxTerminal.start(home, { env: { TENON_MODEL: "" } });
      expectScreen("first-run", await terminal.until("Number [8]"), home);
      await terminal.press("Enter");
      await terminal.until("offline/operator");
    }
    await using again = await TmuxTerminal.start(home, { env: { TENON_MODEL: "" } });
    const shown = await again.until("offline/operator");
    expect(shown).not.toContain("Which one shall answer?");
  },
  IN_TMUX,
);
