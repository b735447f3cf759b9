// Approvals hold for exactly what was approved: this server, this tool, these words.
import { describe, expect, it } from "vitest";
import { hashJson } from "../../base/hash.js";
import { fakeWorld } from "../../testing/index.js";
import type { ApprovalAnswer, ApprovalStore, ApprovalSubject, ServerIdentity } from "./approval.js";
import { ApprovalFiles } from "./approval-files.js";
import { Approvals } from "./approvals.js";
import { definitionData } from "./difference.js";

function tool(name: string, description = "Does it", source = "notes"): ApprovalSubject {
  const definition = { name, description, inputSchema: { type: "object" } };
  return { origin: "user", source, definition, definitionHash: hashJson(definitionData(definition)) };
}

const READ = tool("read");
const CHANGED = tool("read", "Does it, and sends it away");

const world = () => fakeWorld();
type World = ReturnType<typeof world>;

function session(given: World, identity: Partial<ServerIdentity> = {}, store?: ApprovalStore): Approvals {
  return new Approvals({
    log: given.log,
    store: store ?? new ApprovalFiles(given, "/state/approvals"),
    identify: ({ origin, source }) => ({ origin, name: source, fingerprint: "f1", ...identity }),
  });
}

async function loaded(given: World, identity: Partial<ServerIdentity> = {}): Promise<Approvals> {
  const approvals = session(given, identity);
  await approvals.load([READ]);
  return approvals;
}

describe("an answer", () => {
  it.each<[ApprovalAnswer, string, string]>([
    ["once", "new", "new"],
    ["session", "approved", "new"],
    ["always", "approved", "approved"],
    ["always_server", "approved", "approved"],
    ["no", "new", "new"],
    ["never", "never", "never"],
  ])("%s: the tool is %s in this session and %s in the next", async (answer, now, next) => {
    const given = world();
    const first = await loaded(given);
    expect(first.standing(READ).kind).toBe("new");
    await first.record(READ, answer, [READ]);
    expect(first.standing(READ).kind).toBe(now);
    expect((await loaded(given)).standing(READ).kind).toBe(next);
  });

  it("to another tool is none to this one", async () => {
    const given = world();
    const approvals = await loaded(given);
    await approvals.record(tool("other"), "always");
    await approvals.record(tool("third"), "never");
    expect(approvals.standing(READ).kind).toBe("new");
    expect((await loaded(given)).standing(READ).kind).toBe("new");
  });

  it("for a server is for the tools it has then, and not for those refused or those of others", async () => {
    const given = world();
    const first = await loaded(given);
    await first.record(tool("danger"), "never");
    await first.record(READ, "always_server", [READ, tool("write"), tool("danger"), tool("foreign", "x", "elsewhere")]);
    const next = await loaded(given);
    expect(next.standing(tool("write")).kind).toBe("approved");
    expect(next.standing(tool("danger")).kind).toBe("never");
    expect(next.standing(tool("later")).kind).toBe("new");
    expect(next.standing(tool("write", "changed")).kind).toBe("changed");
    expect(next.standing(tool("foreign", "x", "elsewhere")).kind).toBe("new");
  });

  it("that is newer counts, whichever kind it is", async () => {
    const given = world();
    const first = await loaded(given);
    await first.record(READ, "always_server", [READ]);
    await given.advance(1_000);
    await first.record(CHANGED, "always");
    expect((await loaded(given)).standing(CHANGED).kind).toBe("approved");
    await given.advance(1_000);
    await first.record(READ, "always_server", [READ]);
    expect((await loaded(given)).standing(READ).kind).toBe("approved");
    expect((await loaded(given)).standing(CHANGED).kind).toBe("changed");
  });

  it("never stays whatever the definition becomes, and survives a later always of the server", async () => {
    const given = world();
    const first = await loaded(given);
    await first.record(READ, "never");
    await first.record(tool("write"), "always_server", [READ, CHANGED]);
    expect((await loaded(given)).standing(CHANGED)).toEqual({
      kind: "never",
      decidedAt: expect.stringMatching(/^\d{4}-/),
    });
  });

  it("counts for the session when it cannot be kept", async () => {
    const given = world();
    const broken: ApprovalStore = {
      load: async () => [],
      keep: () => Promise.reject(new Error("disk full")),
    };
    const approvals = session(given, {}, broken);
    await approvals.record(READ, "always");
    expect(approvals.standing(READ).kind).toBe("approved");
    expect(given.logLines.join()).toContain("disk full");
  });
});

describe("another server of the same name", () => {
  it.each<[string, Partial<ServerIdentity>]>([
    ["started in another way", { fingerprint: "f2" }],
    ["of another layer", { origin: "project" }],
    ["of another project", { project: "/elsewhere" }],
    ["without a launch of its own", {}],
  ])("inherits nothing when it is %s", async (_, identity) => {
    const given = world();
    await (await loaded(given)).record(READ, "always");
    await (await loaded(given)).record(tool("write"), "never");
    const other =
      Object.keys(identity).length > 0
        ? session(given, identity)
        : new Approvals({ log: given.log, store: new ApprovalFiles(given, "/state/approvals") });
    await other.load([READ]);
    expect(other.standing(READ).kind).toBe("new");
    expect(other.standing(tool("write")).kind).toBe("new");
  });

  it("leaves nothing behind when it has no launch of its own, since its name is nobody", async () => {
    const given = world();
    const approvals = new Approvals({ log: given.log, store: new ApprovalFiles(given, "/state/approvals") });
    await approvals.record({ ...READ, origin: "extra" }, "always");
    expect(approvals.standing({ ...READ, origin: "extra" }).kind).toBe("approved");
    expect(given.files.paths).toEqual([]);
  });
});

describe("a changed definition", () => {
  it("asks again in the next session and shows what changed, but is not held back", async () => {
    const given = world();
    await (await loaded(given)).record(READ, "always");
    const next = await loaded(given);
    expect(next.isHeld(CHANGED)).toBe(false);
    expect(next.standing(CHANGED)).toEqual({
      kind: "changed",
      isHeld: false,
      difference: ["changed description:", "  - Does it", "  + Does it, and sends it away"],
    });
  });

  it.each<ApprovalAnswer>(["session", "always", "always_server"])(
    "is held back in the session of an answer %s",
    async (answer) => {
      const approvals = await loaded(world());
      await approvals.record(READ, answer);
      expect(approvals.isHeld(READ)).toBe(false);
      expect(approvals.isHeld(CHANGED)).toBe(true);
      await approvals.record(CHANGED, "once");
      expect(approvals.isHeld(CHANGED)).toBe(true);
      await approvals.record(CHANGED, "session");
      expect(approvals.isHeld(CHANGED)).toBe(false);
      expect(approvals.isHeld(READ)).toBe(true);
    },
  );

  it("is held back once the approved one was seen in this session", async () => {
    const given = world();
    await (await loaded(given)).record(READ, "always");
    const next = await loaded(given);
    expect(next.isHeld(READ)).toBe(false);
    expect(next.isHeld(CHANGED)).toBe(true);
    expect(next.isHeld(READ)).toBe(false); // it changed back
  });

  it("of a tool that ran by a rule is held back, and so is none of Tenon's own", async () => {
    const approvals = await loaded(world());
    approvals.pin(READ);
    expect(approvals.standing(READ).kind).toBe("new");
    expect(approvals.isHeld(CHANGED)).toBe(true);
    approvals.pin({ ...READ, origin: "builtin" });
    expect(approvals.isHeld({ ...CHANGED, origin: "builtin" })).toBe(false);
  });

  it("of a tool let through once shows its difference, and holds nothing back", async () => {
    const approvals = await loaded(world());
    await approvals.record(READ, "once");
    expect(approvals.isHeld(CHANGED)).toBe(false);
    expect(approvals.standing(CHANGED)).toMatchObject({ kind: "changed", isHeld: false });
  });

  it("costs no hash for tools nobody decided on", async () => {
    const approvals = await loaded(world());
    await approvals.record(READ, "session");
    let hashes = 0;
    const lazy: ApprovalSubject = {
      ...tool("other"),
      get definitionHash() {
        hashes++;
        return "h";
      },
    };
    expect(approvals.isHeld(lazy)).toBe(false);
    expect(hashes).toBe(0);
  });
});
