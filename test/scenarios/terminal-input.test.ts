// What a person types in `tenon chat`: keys for new lines, completion, search, pictures, and what a question takes.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";
import { DONE, expectScreen, lastRequest, openChat, projectIn } from "./terminal-stage.js";
import { IN_TMUX } from "./tmux.js";

const PROMPT_SERVER = join(import.meta.dirname, "../fixtures/prompt-server.mjs");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";

scenario(
  ["Z111"],
  "Shift-Enter, Alt-Enter, Ctrl-J and a backslash make new lines, arrows move between them, and Enter sends all of it",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(DONE);
    await using terminal = await openChat(home, provider);
    await terminal.type("one");
    await terminal.bytes("\u001b[13;2u"); // Shift-Enter, as kitty's protocol has it
    await terminal.type("two");
    await terminal.bytes("\u001b[27;2;13~"); // and xterm
    await terminal.type("three");
    await terminal.press("M-Enter");
    await terminal.type("你好");
    await terminal.press("C-j");
    await terminal.type("five \\");
    await terminal.press("Enter");
    await terminal.type("six");
    await terminal.press("Up", "Up", "Home");
    await terminal.type("4 ");
    expectScreen("new-lines", await terminal.until("4 你好"), home);
    await terminal.press("Enter");
    await terminal.until("Done.");
    expect(lastRequest(provider)).toContain("one\\ntwo\\nthree\\n4 你好\\nfive \\nsix");
    expect(provider.requests).toHaveLength(1);
  },
  IN_TMUX,
);

scenario(
  ["Z111", "Z117"],
  "a slash offers commands with the prompts of servers, an at sign files, and a few letters in their order are enough",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(DONE);
    const cwd = projectIn(home);
    mkdirSync(join(cwd, "src"));
    for (const name of ["src/parser.ts", "src/printer.ts", "readme.md"]) writeFileSync(join(cwd, name), "x\n");
    const team = { command: process.execPath, args: [PROMPT_SERVER] };
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { team } }));
    await using terminal = await openChat(home, provider, { cwd });
    await terminal.until("servers 1/1");
    await terminal.type("/re");
    await terminal.until("/team:review");
    await terminal.press("Down");
    expectScreen("commands-completed", await terminal.until("/team:review"), home);
    await terminal.press("Escape");
    await terminal.press("C-u");
    await terminal.type("look at @psr");
    expectScreen("files-completed", await terminal.until("@src/parser.ts"), home);
    await terminal.press("Tab");
    await terminal.until("look at @src/parser.ts");
    await terminal.press("Enter");
    await terminal.until("Done.");
    await terminal.press("C-r");
    await terminal.type("psr");
    await terminal.until("search: psr");
    await terminal.press("BSpace", "BSpace", "BSpace");
    await terminal.type("parser");
    expectScreen("history-searched", await terminal.until("search: parser → look at @src/parser.ts"), home);
    await terminal.press("Escape");
  },
  IN_TMUX,
);

scenario(
  ["Z122"],
  "a picture goes into a prompt by its path, also with blanks in it, and from the clipboard",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(DONE, DONE);
    const cwd = projectIn(home);
    writeFileSync(join(cwd, "a picture.png"), Buffer.from(PNG, "base64"));
    const bin = join(home.path, "bin");
    mkdirSync(bin);
    const paste = join(bin, "wl-paste");
    writeFileSync(paste, `#!/bin/sh\nprintf '%s' '${PNG}' | base64 -d\n`);
    chmodSync(paste, 0o755);
    const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, TENON_MODEL: "openai-compatible/gpt-4o" };
    await using terminal = await openChat(home, provider, { cwd, env, columns: 120 });
    await terminal.paste(`'${join(cwd, "a picture.png")}' what is this?`);
    await terminal.until("what is this?");
    await terminal.press("Enter");
    await terminal.until("Done.");
    expect(lastRequest(provider)).toContain(PNG);
    await terminal.type("and this ");
    await terminal.press("C-v");
    await terminal.until(/state\/pictures\/[0-9a-f]+\.png'$/mu);
    await terminal.press("Enter");
    await terminal.until((screen) => screen.split("Done.").length === 3);
    expect(lastRequest(provider).split(PNG)).toHaveLength(3);
  },
  IN_TMUX,
);

scenario(
  ["Z105"],
  "a command is shown before the answer, each answer says what it allows, and a no carries words to the model",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const cwd = projectIn(home);
    provider.reply(answerToolCall("run_command", { command: "ls docs" }), answerText("I use something else then."));
    await using terminal = await openChat(home, provider, { cwd, rows: 30 });
    await terminal.send("list them");
    expectScreen("command-before-yes", await terminal.asked(), home);
    await terminal.type("x"); // a key that is no answer
    await terminal.press("Down", "Down", "Down");
    await terminal.until("❯ 4. No, and say");
    await terminal.press("Enter");
    await terminal.until("instead? ›");
    await terminal.send("there are no docs");
    expectScreen("no-with-words", await terminal.until((screen) => screen.includes("tokens")), home);
    expect(lastRequest(provider)).toContain("there are no docs");
  },
  IN_TMUX,
);

scenario(
  ["Z107"],
  "Esc stops an answer and gives back what was queued; the arrow takes the last queued prompt back into the line",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "text", text: "working" },
        { kind: "pause", until },
      ],
    });
    await using terminal = await openChat(home, provider);
    await terminal.send("begin");
    await terminal.until("working");
    // An answer that stops for a while says that it goes on.
    await terminal.until("thinking");
    for (const words of ["first of all", "and then"]) await terminal.send(words);
    await terminal.until("queued › and then");
    await terminal.press("Up");
    await terminal.until((screen) => screen.includes("› and then") && !screen.includes("queued › and then"));
    await terminal.press("Escape");
    const screen = await terminal.until((shown) => shown.includes("(cancelled)") && shown.includes("mode ask"));
    expectScreen("queue-given-back", screen, home);
    release();
    expect(provider.requests).toHaveLength(1);
  },
  IN_TMUX,
);

scenario(
  ["Z123"],
  "links can be clicked and code is coloured; with NO_COLOR neither is, and nothing else is missing",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    const text = "Read **this**: [the page](https://example.com/x).\n\n```js\nconst a = 1;\n```\n";
    for (const name of ["coloured", "plain"]) {
      provider.reply(answerText(text));
      const env = name === "plain" ? { NO_COLOR: "1" } : {};
      await using terminal = await openChat(home, provider, { log: `${name}.log`, env });
      await terminal.send("show it");
      await terminal.until((screen) => screen.includes("const a = 1;") && screen.includes("tokens"));
      expect(await terminal.screen()).toContain("Read this: the page (https://example.com/x).");
    }
    const [coloured, plain] = ["coloured.log", "plain.log"].map((log) => readFileSync(join(home.path, log), "utf8"));
    expect(coloured).toContain("\u001b]8;;https://example.com/x\u001b\\");
    expect(coloured).toContain("\u001b[35mconst\u001b[39m");
    expect(plain).not.toMatch(/\u001b\[[0-9;]*m|\u001b\]8/u);
  },
  { needs: ["tmux", "script"], platform: "linux" },
);
