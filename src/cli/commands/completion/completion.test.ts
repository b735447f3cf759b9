// The scripts know every command and option of the table, and quote whatever people wrote into it.
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../../test/terminal.js";
import { TABLE } from "../../table.js";
import { bashScript, fishScript, powershellScript, wordsOf, zshScript } from "./completion.js";

describe.each([
  ["bash", bashScript],
  ["zsh", zshScript],
  ["fish", fishScript],
  ["powershell", powershellScript],
])("%s", (shell, script) => {
  it("has every command with its options, and none that is hidden", async () => {
    const { out, code } = await new Terminal().run("completion", shell);
    expect(code).toBe(0);
    expect(out).toBe(script(wordsOf(TABLE)));
    for (const { path, options } of wordsOf(TABLE).commands) {
      expect(out).toContain(path);
      for (const { name } of options) expect(out).toContain(name);
    }
    expect(out).not.toMatch(/--server\b/u);
  });

  it("keeps quotes in summaries from ending the script's own", () => {
    const table = wordsOf([
      {
        kind: "command",
        name: "odd",
        summary: `it's "so" $(touch /tmp/x) \`y\``,
        options: { flag: { type: "boolean", summary: "that's [it]: $HOME" } },
        examples: {},
        run: async () => 0,
      },
    ]);
    const text = script(table);
    const isUneven = (line: string) => line.replaceAll(/'\\''|\\'|\\\\/gu, "").split("'").length % 2 === 0;
    expect(text.split("\n").filter((line) => !line.startsWith("#") && isUneven(line))).toEqual([]);
  });
});

describe("names", () => {
  it("are those of the configuration, and only such that a shell takes for one word", async () => {
    const servers = { plain: { command: "run" }, "two words": { command: "run" }, "$(x)": { command: "run" } };
    const terminal = new Terminal({ "/home/me/.config/tenon/config.json": { mcpServers: servers } });
    const { out } = await terminal.run("completion", "bash", "--names", "server");
    expect(out).toBe("plain\n");
    expect(terminal.world.children).toEqual([]);
    expect((await terminal.run("completion", "bash", "--names", "session")).out).toBe("");
  });
});
