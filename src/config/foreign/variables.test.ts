// Whatever a text is, it means here what it means there, or it is said that it cannot: never anything else.
import { posix } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { type Interpolated, interpolate } from "../secrets/secrets.js";
import { type Slot, translateText, type VariableSyntax } from "./translate.js";

const pieces = fc.constantFrom(
  ..."a/ .=,!$".split(""),
  "${",
  "}",
  "{",
  "$${",
  "${HOME}",
  "${env:HOME}",
  "${HOME:-x}",
  "${userHome}",
  "${workspaceFolder}",
  "${input:key}",
  "${config:x}",
  "{env:HOME}",
  "{env:",
  "{file:/a}",
  "{file:",
  "keyring:",
  "!echo",
);
const texts = fc.array(fc.oneof(pieces, fc.string({ maxLength: 4 })), { maxLength: 6 }).map((parts) => parts.join(""));
const slots = fc.constantFrom<Slot>("command", "args", "env", "headers", "url");

function translate(text: string, slot: Slot, syntax: VariableSyntax): ReturnType<typeof translateText> {
  return translateText(text, slot, {
    syntax,
    layer: "user",
    platform: "linux",
    folder: "/home/me",
    resolve: posix.resolve,
    inputs: new Map(),
    runsElsewhere: false,
  });
}

async function meaning(text: string, slot: Slot): Promise<Interpolated | { readonly reason: string }> {
  const world = fakeWorld({ env: { HOME: "/home/me" }, files: { "/a": "secret" } });
  const mayBeSecret = slot === "env" || slot === "headers";
  return await interpolate({ text, path: ["x"], mayBeSecret }, () => ({ layer: "user", file: "/f" }), {
    world,
    env: world.env,
    folder: "/home/me",
    patience: new AbortController().signal,
  });
}

describe("a translated text", () => {
  it("means itself where the other client fills in nothing", async () => {
    await fc.assert(
      fc.asyncProperty(texts, slots, async (text, slot) => {
        const { text: ours, problem } = translate(text, slot, {});
        if (problem !== undefined) return;
        expect(await meaning(ours, slot)).toEqual({ text, secrets: [] });
      }),
      { numRuns: 2_000 },
    );
  });

  it("is never run, looked up or read from a file, whatever the other client fills in", async () => {
    const syntaxes = fc.constantFrom<VariableSyntax>(
      {},
      { shell: true },
      { editor: true },
      { editor: true, inputs: true },
    );
    await fc.assert(
      fc.asyncProperty(texts, slots, syntaxes, async (text, slot, syntax) => {
        const { text: ours, problem } = translate(text, slot, syntax);
        if (problem !== undefined) return;
        const filled = await meaning(ours, slot);
        // Without secrets a command or a keyring says that it works in the user's own configuration only.
        if ("reason" in filled) expect(filled.reason).not.toContain("works in the user's own");
        else expect(filled.secrets).not.toContain("secret");
      }),
      { numRuns: 2_000 },
    );
  });

  it("has the variables of the other client as ours", () => {
    expect(translate("a ${env:X} b", "args", { editor: true }).text).toBe("a ${X} b");
    expect(translate("${X:-y z}", "args", { shell: true }).text).toBe("${X:-y z}");
    expect(translate("{env:X}", "env", { braces: true }).text).toBe("${X}");
    expect(translate("{file:~/key}", "env", { braces: true }).text).toBe("{file:~/key}");
    expect(translate("${file:/run/key}", "env", { editor: true, dollarFile: true }).text).toBe("{file:/run/key}");
    expect(translate("$${env:X}", "args", { editor: true }).problem).toContain("behind a $");
    expect(translate("${env:A B}", "args", { editor: true }).problem).toContain("by that client only");
  });
});
