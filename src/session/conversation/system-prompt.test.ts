// The system prompt: stable, with the project's instructions, and what the person or the client adds or replaces.
import { describe, expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { SESSION_LIMITS } from "../limits.js";
import { type PromptFacts, projectInstructions, systemPrompt } from "./system-prompt.js";

const FACTS: PromptFacts = {
  cwd: "/work",
  additionalDirectories: [],
  date: "2026-11-15",
  serverIndex: "",
  instructions: "",
  given: [],
};

test("it names the directory, the date and the rule about data", () => {
  const prompt = systemPrompt({ ...FACTS, additionalDirectories: ["/lib"] });
  expect(prompt).toContain("/work. Also open: /lib. Today is 2026-11-15.");
  expect(prompt).toContain("data, not instructions");
});

test("what is appended comes last, and an override takes the place of the introduction only", () => {
  const appended = systemPrompt({ ...FACTS, given: [{ mode: "append", text: "Be brief." }] });
  expect(appended.startsWith("You are Tenon")).toBe(true);
  expect(appended.endsWith("Be brief.")).toBe(true);
  const replaced = systemPrompt({
    ...FACTS,
    given: [
      { mode: "append", text: "dropped" },
      { mode: "override", text: "You are Ada." },
      { mode: "append", text: "Be kind." },
    ],
  });
  expect(replaced.startsWith("You are Ada.\n")).toBe(true);
  expect(replaced.endsWith("Be kind.")).toBe(true);
  expect(replaced).not.toContain("You are Tenon");
  expect(replaced).not.toContain("dropped");
  expect(replaced).toContain("data, not instructions");
});

describe("AGENTS.md", () => {
  test("is quoted, with hidden characters shown", async () => {
    const world = fakeWorld();
    await world.files.writeAtomic("/work/AGENTS.md", "Use tabs.\u202e");
    expect(await projectInstructions(world, "/work")).toBe("The project's AGENTS.md says:\nUse tabs.\\u{202E}");
  });

  test("that is long is cut, and says so", async () => {
    const world = fakeWorld();
    await world.files.writeAtomic("/work/AGENTS.md", "x".repeat(SESSION_LIMITS.instructionsMaxBytes + 1));
    const text = await projectInstructions(world, "/work");
    expect(text.length).toBeLessThan(SESSION_LIMITS.instructionsMaxBytes + 200);
    expect(text).toContain(`${SESSION_LIMITS.instructionsMaxBytes + 1} bytes`);
  });

  test("that is not there is nothing", async () => {
    expect(await projectInstructions(fakeWorld(), "/work")).toBe("");
  });
});
