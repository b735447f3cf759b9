// Permission of one call: rules first, then what was approved, then the person; who cannot be asked says no.
import { describe, expect, it } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { fakeWorld } from "../../testing/index.js";
import { type CatalogTool, DecisionFiles, type PolicyRule, snapshot, type ToolDefinition } from "../../tools/index.js";
import type { PermissionAnswer, PermissionQuestion, SessionPorts } from "../ports.js";
import type { SessionPolicy } from "./judged-call.js";
import { Permissions, type PermissionsOptions } from "./permissions.js";

const READ: ToolDefinition = { name: "read", description: "Reads", inputSchema: { type: "object" } };
const WRITE: ToolDefinition = { name: "write", description: "Writes", inputSchema: { type: "object" } };
const CHANGED: ToolDefinition = { ...READ, description: "Reads, and sends it away" };

function toolOf(definition: ToolDefinition): CatalogTool {
  const call = () => Promise.reject(new Error("not called here"));
  const [tool] = snapshot([{ name: "notes", origin: "user", tools: new Cell([definition]), call }]).tools;
  if (!tool) throw new Error("no tool");
  return tool;
}

const subject = (definition: ToolDefinition) => ({ tool: toolOf(definition), raw: definition });
const never = new AbortController().signal;

class Person implements SessionPorts {
  readonly asked: PermissionQuestion[] = [];
  readonly #answers: PermissionAnswer[];

  constructor(...answers: readonly PermissionAnswer[]) {
    this.#answers = [...answers];
  }

  async ask(question: PermissionQuestion): Promise<PermissionAnswer> {
    this.asked.push(question);
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error("asked too often");
    return answer;
  }
}

function policy(rules: readonly PolicyRule[], given: Partial<SessionPolicy> = {}): Pick<PermissionsOptions, "policy"> {
  return { policy: () => ({ mode: "ask", mayBypass: false, rules, ...given }) };
}

function setUp(options: Partial<PermissionsOptions> = {}, world = fakeWorld()) {
  const permissions = new Permissions(world.log, {
    ...policy([]),
    store: new DecisionFiles(world, "/state"),
    program: async () => "program",
    folder: async (path) => (path === "." ? "/work" : undefined),
    places: { files: world.files, cwd: "/work" },
    ...options,
  });
  const call = (definition: ToolDefinition, ports?: SessionPorts, args = {}) =>
    permissions.approve({ toolCallId: "1-1", tool: toolOf(definition), arguments: args }, ports, never);
  return { world, permissions, call };
}

describe("a call that would fail whoever allowed it", () => {
  const impossible = async () => "/etc lies outside of the session's directories.";
  const request = { toolCallId: "1-1", tool: toolOf(WRITE), arguments: {}, impossible };

  it("is refused with the reason, and nobody is asked", async () => {
    const person = new Person();
    const { permissions } = setUp();
    const refused = { kind: "refused", reason: await impossible() };
    expect(await permissions.approve(request, person, never)).toEqual(refused);
    expect(await permissions.approve(request, undefined, never)).toEqual(refused);
    expect(person.asked).toEqual([]);
  });

  it("is not looked at where nobody would be asked", async () => {
    const { permissions } = setUp(policy([{ effect: "allow" }]));
    const looked = async () => Promise.reject(new Error("looked at"));
    expect(await permissions.approve({ ...request, impossible: looked }, undefined, never)).toEqual({
      kind: "allowed",
    });
  });
});

describe("the person's answers", () => {
  it.each<[PermissionAnswer, string, number]>([
    ["once", "allowed", 2],
    ["always", "allowed", 1],
    ["no", "refused", 2],
    ["never", "refused", 1],
    ["cancelled", "cancelled", 2],
  ])("%s: %s, and two calls ask %d times", async (answer, kind, count) => {
    const { call } = setUp();
    const person = new Person(answer, answer);
    expect((await call(READ, person)).kind).toBe(kind);
    expect((await call(READ, person)).kind).toBe(kind);
    expect(person.asked).toHaveLength(count);
    expect(person.asked[0]).toMatchObject({ arguments: {} });
    expect(person.asked[0]?.choices.map((choice) => choice.answer)).toEqual(["once", "always", "no", "never"]);
  });

  it("are remembered in the next session of the project for exactly this tool, definition and program", async () => {
    const first = setUp();
    await first.call(READ, new Person("always"));
    const next = setUp({}, first.world);
    expect(await next.call(READ)).toEqual({ kind: "allowed" });
    expect((await next.call(WRITE)).kind).toBe("refused");
    expect((await next.call(CHANGED)).kind).toBe("refused");
    expect((await setUp({ program: async () => "other" }, first.world).call(READ)).kind).toBe("refused");
    expect((await setUp({ folder: async () => "/elsewhere" }, first.world).call(READ)).kind).toBe("refused");
  });

  it("that were not offered are a no", async () => {
    const { call } = setUp(policy([{ effect: "ask" }]));
    expect((await call(READ, new Person("always"))).kind).toBe("refused");
  });

  it("cover questions that waited meanwhile", async () => {
    const { call } = setUp();
    const person = new Person("always");
    const all = await Promise.all([call(READ, person), call(READ, person), call(READ, person)]);
    expect(all).toEqual([{ kind: "allowed" }, { kind: "allowed" }, { kind: "allowed" }]);
    expect(person.asked).toHaveLength(1);
  });
});

describe("a session nobody is attached to", () => {
  it("denies what would be asked, says so, and still does what rules allow", async () => {
    const { call } = setUp(policy([{ effect: "allow", tool: "write" }]));
    expect(await call(READ)).toEqual({
      kind: "refused",
      reason: "nobody is attached to this session who could approve it",
    });
    expect(await call(WRITE)).toEqual({ kind: "allowed" });
  });

  it("keeps to what was approved before", async () => {
    const first = setUp();
    await first.call(READ, new Person("always"));
    expect(await setUp({}, first.world).call(READ)).toEqual({ kind: "allowed" });
  });
});

describe("rules", () => {
  it("that deny are stronger than any approval, and ask nobody", async () => {
    const first = setUp();
    await first.call(READ, new Person("always"));
    const person = new Person();
    const { call } = setUp(policy([{ effect: "deny", reason: "not today" }]), first.world);
    expect(await call(READ, person)).toEqual({ kind: "refused", reason: "a rule denies it: not today" });
    expect(person.asked).toEqual([]);
  });

  it("that ask do so every time, whatever was approved, and say why", async () => {
    const rule: PolicyRule = {
      effect: "ask",
      arguments: [{ pointer: "/to", equals: "all" }],
      place: "config.json:2:3",
    };
    const { call } = setUp(policy([rule]));
    const person = new Person("always", "once", "once", "once");
    await call(READ, person);
    expect(await call(READ, person)).toEqual({ kind: "allowed" });
    expect(person.asked).toHaveLength(1);
    for (let time = 0; time < 3; time++) expect(await call(READ, person, { to: "all" })).toEqual({ kind: "allowed" });
    expect(person.asked).toHaveLength(4);
    expect(person.asked[3]).toMatchObject({
      reason: "the rule at config.json:2:3 wants it to be asked about",
    });
    expect(await call(READ, person)).toEqual({ kind: "allowed" });
  });

  it("that allow do not overrule a never", async () => {
    const first = setUp();
    await first.call(READ, new Person("never"));
    expect(await setUp(policy([{ effect: "allow" }]), first.world).call(READ)).toEqual({
      kind: "refused",
      reason: "the person said never to this tool",
    });
  });

  it("about directories follow links, from where the server runs", async () => {
    const world = fakeWorld({ files: { "/work/a": "", "/etc/passwd": "" } });
    world.files.link("/work/out", "/etc");
    const rules: readonly PolicyRule[] = [{ effect: "allow", arguments: [{ pointer: "/path", under: "." }] }];
    const { call } = setUp(policy(rules), world);
    expect((await call(READ, undefined, { path: "a" })).kind).toBe("allowed");
    expect((await call(READ, undefined, { path: "out/passwd" })).kind).toBe("refused");
    const elsewhere = setUp({ ...policy(rules), server: () => ({ cwd: "/etc" }) }, world);
    expect((await elsewhere.call(READ, undefined, { path: "passwd" })).kind).toBe("refused");
    const blind = new Permissions(world.log, policy(rules));
    const request = { toolCallId: "1", tool: toolOf(READ), arguments: { path: "a" } };
    expect((await blind.approve(request, undefined, never)).kind).toBe("refused");
  });
});

describe("modes", () => {
  it("plan denies what is not known to read, and trusts a server only by the user's word", async () => {
    const definition = { ...READ, annotations: { readOnlyHint: true } };
    const plan = policy([], { mode: "plan" });
    const person = new Person("once");
    expect(await setUp(plan).call(definition, person)).toEqual({
      kind: "refused",
      reason: "the mode plan runs read-only tools, and this is not known to be one",
    });
    const trusting = setUp({ ...plan, server: () => ({ trustsAnnotations: true }) });
    expect((await trusting.call(definition, person)).kind).toBe("allowed");
  });

  it("bypass asks nothing, not even about a changed definition, if the user allowed it", async () => {
    const { call } = setUp(policy([], { mode: "bypass", mayBypass: true }));
    expect((await call(READ)).kind).toBe("allowed");
    expect((await call(CHANGED)).kind).toBe("allowed");
    expect((await setUp(policy([], { mode: "bypass" })).call(READ)).kind).toBe("refused");
  });
});

describe("a definition that changes", () => {
  it("is asked about with what changed, and held until it is approved", async () => {
    const { call, permissions } = setUp();
    await call(READ, new Person("always"));
    expect(permissions.whyHeld(subject(READ))).toBeUndefined();
    expect(permissions.whyHeld(subject(CHANGED))).toBe("its definition changed since it was approved");
    const person = new Person("no", "always");
    expect((await call(CHANGED, person)).kind).toBe("refused");
    expect(person.asked[0]?.change).toEqual(["changed description:", "  - Reads", "  + Reads, and sends it away"]);
    expect((await call(CHANGED, person)).kind).toBe("allowed");
    expect(permissions.whyHeld(subject(CHANGED))).toBeUndefined();
    expect((await call(CHANGED, person)).kind).toBe("allowed");
  });

  it("is asked about though a rule allows the tool, and refused where nobody can be asked", async () => {
    const { call } = setUp(policy([{ effect: "allow" }]));
    expect((await call(READ)).kind).toBe("allowed");
    expect(await call(CHANGED)).toEqual({
      kind: "refused",
      reason: "nobody is attached to this session who could approve it, and its definition changed",
    });
    const person = new Person("always");
    expect((await call(CHANGED, person)).kind).toBe("allowed");
    expect((await call(CHANGED, person)).kind).toBe("allowed");
    expect(person.asked).toMatchObject([{ change: expect.any(Array) }]);
  });

  it("is reviewed once without a call; yes frees it for the session, no leaves it held", async () => {
    const { call, permissions } = setUp();
    await call(READ, new Person("always"));
    await call(WRITE, new Person("always"));
    const changed = [subject(CHANGED), subject({ ...WRITE, description: "Deletes" })];
    await permissions.review(changed, undefined, never);
    const person = new Person("once", "no");
    await permissions.review([subject(READ), ...changed], person, never);
    const toolCallId = expect.stringMatching(/^definition-[0-9a-f]{12}$/);
    const change = expect.any(Array);
    expect(person.asked).toMatchObject([
      { isReview: true, toolCallId, change },
      { isReview: true, toolCallId, change },
    ]);
    expect(changed.map((one) => permissions.whyHeld(one) !== undefined)).toEqual([false, true]);
    await permissions.review(changed, person, never);
    expect(person.asked).toHaveLength(2);
  });

  it("of a shaped tool is that of its source, not that of the model's form", async () => {
    const { permissions } = setUp();
    const tool = toolOf(READ);
    const person = new Person("always");
    const { definitionHash } = tool; // computed when read, so a copy has to be told
    const shown = { ...tool, definitionHash, definition: { ...READ, name: "renamed" } };
    const request = { toolCallId: "1", tool: shown, arguments: {} };
    await permissions.approve({ ...request, raw: READ }, person, never);
    expect(await permissions.approve({ ...request, raw: READ }, undefined, never)).toEqual({ kind: "allowed" });
  });
});

describe("a question that fails", () => {
  it("is a no that says why", async () => {
    const { call, world } = setUp();
    const gone: SessionPorts = { ask: () => Promise.reject(new Error("the client is gone")) };
    expect(await call(READ, gone)).toEqual({
      kind: "refused",
      reason: "the question could not be asked: the client is gone",
    });
    expect(world.logLines.join()).toContain("permission.failed");
  });

  it("to answer at all ends with its turn, and does not hold up the next", async () => {
    const { permissions, call } = setUp();
    const turn = new AbortController();
    const silent: SessionPorts = { ask: () => new Promise(() => undefined) };
    const request = { toolCallId: "1", tool: toolOf(READ), arguments: {} };
    const first = permissions.approve(request, silent, turn.signal);
    const second = permissions.approve(request, silent, turn.signal);
    turn.abort();
    expect([await first, await second]).toEqual([{ kind: "cancelled" }, { kind: "cancelled" }]);
    expect(await call(READ, new Person("once"))).toEqual({ kind: "allowed" });
  });

  it("is told to be under way only when somebody is asked", async () => {
    const { permissions } = setUp();
    let asking = 0;
    const request = { toolCallId: "1", tool: toolOf(READ), arguments: {}, onAsking: () => asking++ };
    await permissions.approve(request, undefined, never);
    expect(asking).toBe(0);
    await permissions.approve(request, new Person("always"), never);
    await permissions.approve(request, new Person(), never);
    expect(asking).toBe(1);
  });
});

describe("a tool that is not as it was locked", () => {
  const hold = { reason: "differs from .tenon/tools.lock", difference: () => ["changed title:"], isReviewable: true };
  const locked: Partial<PermissionsOptions> = { lock: ({ definition }) => (definition === READ ? undefined : hold) };

  it("is held, whatever the rules allow, until somebody has looked at exactly this definition", async () => {
    const { permissions, call } = setUp({ ...locked, ...policy([{ effect: "allow" }]) });
    expect(permissions.whyHeld(subject(READ))).toBeUndefined();
    expect(permissions.whyHeld(subject(WRITE))).toBe("it differs from .tenon/tools.lock");
    expect(await call(WRITE)).toEqual({
      kind: "refused",
      reason: "nobody is attached to this session who could approve it, and it differs from .tenon/tools.lock",
    });
    const person = new Person("once");
    await permissions.review([subject(WRITE), subject(READ)], person, never);
    expect(person.asked).toMatchObject([{ isReview: true, lock: hold.reason, change: ["changed title:"] }]);
    expect(permissions.whyHeld(subject(WRITE))).toBeUndefined();
    expect(await call(WRITE)).toEqual({ kind: "allowed" });
    expect(permissions.whyHeld(subject({ ...WRITE, description: "Other" }))).toBeDefined();
  });

  it("stays held after a no, and is not asked about again until it is called", async () => {
    const { permissions, call } = setUp(locked);
    const person = new Person("no", "once");
    await permissions.review([subject(WRITE)], person, never);
    await permissions.review([subject(WRITE)], person, never);
    expect(await call(WRITE, person)).toEqual({ kind: "allowed" });
    expect(permissions.whyHeld(subject(WRITE))).toBeDefined();
  });

  it("is free in later sessions once it was approved for good", async () => {
    const world = fakeWorld();
    const first = setUp(locked, world);
    await first.permissions.review([subject(WRITE)], new Person("always"), never);
    const { permissions } = setUp(locked, world);
    expect(permissions.whyHeld(subject(WRITE))).toBeDefined();
    await permissions.prepare([subject(WRITE)]);
    expect(permissions.whyHeld(subject(WRITE))).toBeUndefined();
  });

  it("is one of a few asked about at a time", async () => {
    const many = Array.from({ length: 8 }, (_, at) => subject({ ...WRITE, name: `tool${at}` }));
    const { permissions } = setUp(locked);
    const person = new Person(...Array.from({ length: 8 }, (): PermissionAnswer => "no"));
    await permissions.review(many, person, never);
    expect(person.asked).toHaveLength(5);
  });

  it("cannot be looked at where the lock cannot be read: then nothing frees it", async () => {
    const broken = { ...hold, reason: "cannot be compared with .tenon/tools.lock: it is no JSON", isReviewable: false };
    const bypass = policy([], { mode: "bypass", mayBypass: true });
    const { permissions, call } = setUp({ ...bypass, lock: () => broken });
    const person = new Person();
    await permissions.review([subject(READ)], person, never);
    expect(await call(READ, person)).toEqual({ kind: "refused", reason: `it ${broken.reason}` });
  });
});

describe("a source that becomes another's while something is decided about it", () => {
  const once = { program: async () => undefined };

  it.each(["user", "project"] as const)("ends the question about its tools, and no others (%s)", async (origin) => {
    const { permissions, call } = setUp(once);
    const ask = async (): Promise<PermissionAnswer> => {
      permissions.forgetSource(origin, "notes");
      return "always";
    };
    expect((await call(READ, { ask })).kind).toBe(origin === "user" ? "refused" : "allowed");
    expect((await call(READ)).kind).toBe(origin === "user" ? "refused" : "allowed");
  });

  it("is not reviewed and not granted", async () => {
    const { permissions, call } = setUp({ ...once, ...policy([{ effect: "allow", tool: "read" }]) });
    expect(await call(READ)).toEqual({ kind: "allowed" }); // and its definition is known from now on
    const ask = async (): Promise<PermissionAnswer> => {
      permissions.withdraw("user", "notes");
      return "once";
    };
    await permissions.review([subject(CHANGED)], { ask }, never);
    expect(permissions.whyHeld(subject(CHANGED))).toContain("changed");
    const granting = permissions.grantAll([subject(WRITE)]);
    permissions.forgetSource("user", "notes");
    expect(await granting).toEqual([]);
    expect((await call(WRITE)).kind).toBe("refused");
  });
});
