// `tenon secret`: what is kept, what is said, and that a value never shows.
import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { TenonError } from "../../../base/errors.js";
import { LIMITS } from "../../../base/limits.js";
import { fakeWorld } from "../../../testing/index.js";
import type { CommandContext } from "../../context.js";
import { runWords } from "../../run.js";
import type { Keyring } from "../../secrets.js";
import { TABLE } from "../../table.js";
import { createPalette } from "../../terminal/stream.js";
import { readSecretValue } from "./secret.js";

class Desk {
  readonly entries = new Map<string, string>();
  readonly asked: string[] = [];
  value: string | undefined = "s3cret\n";
  keyring: Keyring = {
    get: async (name) => this.entries.get(name),
    set: async (name, value) => {
      this.entries.set(name, value);
    },
    remove: async (name) => this.entries.delete(name),
  };

  async run(...words: string[]): Promise<{ code: number; out: string; err: string }> {
    const output = new PassThrough();
    const errorOutput = new PassThrough();
    const context: CommandContext = {
      world: fakeWorld(),
      cwd: "/project",
      output,
      errorOutput,
      columns: 80,
      palette: createPalette(false),
      keyring: this.keyring,
      readValue: async (question) => {
        this.asked.push(question);
        return this.value;
      },
    };
    const code = await runWords(TABLE, ["secret", ...words], () => context);
    return { code, out: String(output.read() ?? ""), err: String(errorOutput.read() ?? "") };
  }
}

describe("tenon secret", () => {
  it("keeps a value without the end of its line, finds it, and takes it out again", async () => {
    const desk = new Desk();
    const set = await desk.run("set", "github");
    expect(set).toEqual({ code: 0, out: 'github is in the keyring: "keyring:github" stands for it\n', err: "" });
    expect(desk.asked).toEqual(["Value of github (not shown): "]);
    expect([...desk.entries]).toEqual([["github", "s3cret"]]);
    expect(await desk.run("check", "github")).toEqual({ code: 0, out: "github is in the keyring\n", err: "" });
    expect((await desk.run("remove", "github")).code).toBe(0);
    expect(desk.entries.size).toBe(0);
    for (const verb of ["check", "remove"]) {
      const { code, err } = await desk.run(verb, "github");
      expect(code).toBe(3);
      expect(err).toBe('tenon secret: the keyring has no entry "github"\n  tenon secret set <name> puts one there.\n');
    }
    expect(desk.asked).toHaveLength(1);
  });

  it("is JSON for programs, the failures too", async () => {
    const desk = new Desk();
    expect(JSON.parse((await desk.run("set", "a", "--json")).out)).toEqual({ name: "a", change: "set" });
    expect(JSON.parse((await desk.run("check", "a", "--json")).out)).toEqual({ name: "a", isThere: true });
    expect(JSON.parse((await desk.run("remove", "a", "--json")).out)).toEqual({ name: "a", change: "removed" });
    const { code, out } = await desk.run("check", "a", "--json");
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ error: { code: "config.invalid" } });
  });

  it("takes no value as a word, and does not repeat what may be one", async () => {
    const desk = new Desk();
    for (const words of [
      ["set", "github", "s3cret"],
      ["set", "--json", "github", "s3cret"],
      ["check", "x", "s3cret"],
    ]) {
      const { code, out, err } = await desk.run(...words);
      expect(code).toBe(2);
      expect(out + err).not.toContain("s3cret");
    }
    for (const words of [
      [],
      ["get", "x"],
      ["set"],
      ["set", ""],
      ["set", " x"],
      ["set", "a\u0007b"],
      ["set", "x", "--y"],
    ]) {
      expect((await desk.run(...words)).code, words.join(" ")).toBe(2);
    }
    expect(desk.asked).toEqual([]);
  });

  it.each([undefined, "", "\n", "a\0b", "x".repeat(LIMITS.configValueMaxBytes + 1)])(
    "keeps nothing when the value is no value (%#)",
    async (value) => {
      const desk = new Desk();
      desk.value = value;
      const { code, err } = await desk.run("set", "github");
      expect(code).toBe(3);
      expect(err.length).toBeLessThan(300);
      expect(desk.entries.size).toBe(0);
    },
  );

  it("tells what the keyring refuses, and how to cure it", async () => {
    const desk = new Desk();
    const refuse = async () => {
      throw new TenonError("config.unreadable", "it is locked", { hint: "Unlock it." });
    };
    desk.keyring = { get: refuse, set: refuse, remove: refuse };
    for (const verb of ["set", "check", "remove"]) {
      expect(await desk.run(verb, "x")).toEqual({
        code: 3,
        out: "",
        err: "tenon secret: it is locked\n  Unlock it.\n",
      });
    }
  });
});

describe("a value", () => {
  it("that is piped in is read to its end, up to the limit", async () => {
    const source = { isTerminal: false, output: new PassThrough() };
    const read = (...chunks: string[]) =>
      readSecretValue("Value: ", { ...source, input: Readable.from(chunks.map((chunk) => Buffer.from(chunk))) });
    expect(await read("two ", "parts\n")).toBe("two parts\n");
    await expect(read("x".repeat(LIMITS.configValueMaxBytes), "xyz")).rejects.toThrow("longer than");
    expect(source.output.read()).toBeNull();
  });

  it.each([
    ["s3cret\r", "s3cret"],
    ["s3x\u007fcret\r", "s3cret"],
    ["half\u0003", undefined],
    ["\u0004", undefined],
  ])("that is typed as %j is %j, and is nowhere to be seen", async (keys, expected) => {
    const input = new PassThrough();
    const output = new PassThrough();
    const typed = readSecretValue("Value: ", { input, isTerminal: true, output });
    input.write(keys);
    expect(await typed).toBe(expected);
    expect(String(output.read())).toBe("Value: \n");
  });
});
