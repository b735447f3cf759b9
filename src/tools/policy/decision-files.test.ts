// Decisions on disk: what is written is read again, what cannot be read is reported, and records of before are brought over once.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { DecisionFiles } from "./decision-files.js";
import { type Decision, decisionId } from "./stored-approvals.js";

const COMMAND: Decision = { kind: "command", project: "/a", folder: "/a", words: ["git", "status"], isExact: false };
const SITE: Decision = { kind: "site", project: "/b", site: "https://example.org" };
const NEVER: Decision = { kind: "never", origin: "user", server: "s", tool: "t" };
const TOOL: Decision = {
  kind: "tool",
  project: "/a",
  origin: "user",
  server: "s",
  program: "p",
  tool: "t",
  definitionHash: "h",
  definition: { name: "t" },
};

const fileOf = (decision: Decision) => `/state/decisions/${decisionId(decision)}.json`;

describe("decisions", () => {
  it("are kept once each, read for their project, and removed by id", async () => {
    const world = fakeWorld();
    const files = new DecisionFiles(world, "/state");
    for (const decision of [COMMAND, SITE, NEVER, TOOL, COMMAND]) await files.keep(decision);
    const kinds = async (project?: string) =>
      (await files.load(project)).decisions.map(({ decision }) => decision.kind).sort();
    expect(await kinds()).toEqual(["command", "never", "site", "tool"]);
    expect(await kinds("/a")).toEqual(["command", "never", "tool"]);
    expect(await kinds("/elsewhere")).toEqual(["never"]);
    expect((await files.load("/a")).decisions.map(({ decision }) => decision)).toContainEqual(TOOL);
    await files.remove(decisionId(NEVER));
    await files.remove("../../etc/passwd");
    expect(await kinds("/elsewhere")).toEqual([]);
  });

  it("without a place for them are none, and cannot be kept", async () => {
    for (const folder of [undefined, "relative"]) {
      const files = new DecisionFiles(fakeWorld(), folder);
      expect(await files.load()).toEqual({ decisions: [], problems: [] });
      await expect(files.keep(NEVER)).rejects.toThrow("no place");
    }
  });

  it.each([
    ["damaged", "{"],
    ["of another version", JSON.stringify({ version: 9, decidedAt: "", decision: NEVER })],
    ["about something else than their name says", JSON.stringify({ version: 2, decidedAt: "", decision: COMMAND })],
  ])("that are %s are reported with what they were", async (_name, text) => {
    const world = fakeWorld({ files: { [fileOf(NEVER)]: text } });
    const { decisions, problems } = await new DecisionFiles(world, "/state").load("/a");
    expect(decisions).toEqual([]);
    expect(problems).toEqual([{ file: fileOf(NEVER), id: decisionId(NEVER), reason: "it is damaged" }]);
  });

  it("in a folder that cannot be read may be anything", async () => {
    const world = fakeWorld({ files: { "/state/decisions": "a file" } });
    const { problems } = await new DecisionFiles(world, "/state").load("/a");
    expect(problems).toMatchObject([{ file: "/state/decisions" }]);
    expect(problems[0]?.id).toBeUndefined();
  });
});

describe("approvals of before", () => {
  const record = (given: object) =>
    JSON.stringify({
      version: 1,
      decision: "always",
      scope: "tool",
      origin: "user",
      server: "s",
      decidedAt: "2026",
      tools: [{ name: "t", hash: "h" }],
      ...given,
    });
  const name = (digit: string) => `/state/approvals/${digit.repeat(32)}-${"a".repeat(32)}.json`;

  it("are brought over by the first reader, who alone is told, and stay where they are", async () => {
    const old = {
      [name("1")]: record({ decision: "never", origin: "builtin", server: "tenon" }),
      [name("2")]: record({}),
      [name("3")]: record({ origin: "builtin" }),
      [name("4")]: record({ scope: "server" }),
      "/state/approvals/key": "k",
    };
    const world = fakeWorld({ files: old });
    const both = await Promise.all([1, 2].map(() => new DecisionFiles(world, "/state").load("/a")));
    const reports = both.flatMap(({ migrated }) => migrated ?? []);
    expect(reports).toEqual([{ never: 1, former: 1, lapsed: 2, backup: "/state/approvals" }]);
    const { decisions, migrated } = await new DecisionFiles(world, "/state").load("/a");
    expect(migrated).toBeUndefined();
    expect(decisions.map(({ decision }) => decision.kind).sort()).toEqual(["former", "never"]);
    for (const [path, text] of Object.entries(old)) expect(await world.files.readText(path)).toBe(text);
  });

  it("that are taken back do not come again", async () => {
    const world = fakeWorld({ files: { [name("1")]: record({ decision: "never" }) } });
    const files = new DecisionFiles(world, "/state");
    const [kept] = (await files.load()).decisions;
    await files.remove(kept?.id ?? "");
    expect((await files.load()).decisions).toEqual([]);
  });

  it("of which one cannot be read are not brought over, and may all have been a never", async () => {
    const world = fakeWorld({ files: { [name("1")]: "{", [name("2")]: record({ decision: "never" }) } });
    const { problems } = await new DecisionFiles(world, "/state").load("/a");
    expect(problems).toEqual([{ file: name("1"), reason: "it is damaged" }]);
  });
});
