// Sessions of nodes that are gone: shares, folders, how many are opened at once, hints, and what a lease's end does to it.
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { fakeWorld } from "../../testing/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { LeftSession, NodeHint, NodeInfo, Nodes } from "./nodes.js";
import { Takeover, tellWhileAway } from "./takeover.js";

const LEASE_MS = 3_000;
const THIRD_MS = LEASE_MS / 3;
const world = () => fakeWorld({ files: { "/srv/a/x": "", "/srv/b/x": "", "/other/x": "" } });

const session = (id: string, cwd = "/srv/a"): LeftSession => ({
  ...{ account: "me", id, cwd, additionalDirectories: [] },
});

function node(id: string, about: Partial<NodeInfo> = {}): NodeInfo {
  return { id, name: id, version: "1", roots: [], isDraining: false, leaseLeftMs: 2_500, sessions: 0, ...about };
}

/** What several nodes see of one database. */
class Shared {
  left: LeftSession[] = [];
  nodes: NodeInfo[] = [node("one"), node("two")];
  readonly hinted = new Set<(hint: NodeHint) => void>();

  of(self: Cell<string | undefined> = new Cell<string | undefined>("one")): Nodes {
    const none = () => {
      throw new Error("not used");
    };
    return {
      ...{ self, leaseMs: LEASE_MS, problem: new Cell<string | undefined>(undefined) },
      list: async () => this.nodes,
      left: async (most) => this.left.slice(0, most),
      takeOver: async (wanted) => {
        const taken = wanted.filter(({ id }) => this.left.some((one) => one.id === id));
        this.left = this.left.filter((one) => !taken.some(({ id }) => id === one.id));
        return taken;
      },
      giveBack: async (one) => {
        this.left.push(one);
      },
      onHint: (listener) => {
        this.hinted.add(listener);
        return { [Symbol.dispose]: () => this.hinted.delete(listener) };
      },
      ...{ ownerOf: none, lastSeqs: none, drain: none, send: none, listen: none, hint: none, figures: none },
    };
  }

  hint(hint: NodeHint): void {
    for (const told of this.hinted) told(hint);
  }
}

/** Whose openings end when the test says so. */
function openings() {
  const begun: LeftSession[] = [];
  const ends: (() => void)[] = [];
  const open = (one: LeftSession) => {
    begun.push(one);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { begun, open, endAll: () => ends.splice(0).forEach((end) => end()) };
}

test("it takes its share of what is new, and all that the others have not taken a moment later", async () => {
  const place = world();
  const shared = new Shared();
  shared.left = ["a", "b", "c", "d"].map((id) => session(id));
  const { begun, open, endAll } = openings();
  await using takeover = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  shared.hint({ session: "a" });
  await place.advance(0);
  const share = begun.length;
  await place.advance(THIRD_MS / 4);
  endAll();
  expect([share, begun.length, takeover.count]).toEqual([2, 4, 4]);
});

test("clients that connect wait until what others left is opened, and no longer than a moment", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [node("one")];
  const { open, endAll } = openings();
  await using takeover = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  const letIn: string[] = [];
  const wait = (name: string) => takeover.calm()?.then(() => letIn.push(name));
  expect(takeover.calm()).toBeUndefined();
  shared.left = [session("a")];
  shared.hint({ session: "a" });
  await place.advance(0);
  const [first] = [wait("first"), await place.advance(1)];
  const early = [...letIn];
  endAll();
  await place.advance(0);
  await first;
  const calm = takeover.calm();
  shared.left = [session("b")];
  shared.hint({ session: "b" });
  await place.advance(0);
  const second = wait("second");
  await place.advance(GATEWAY_LIMITS.nodes.clientsWaitMs);
  await second;
  endAll();
  expect([early, calm, letIn]).toEqual([[], undefined, ["first", "second"]]);
});

test("nodes that drain, whose lease is over or whose roots do not have the folder get no share", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [
    node("one"),
    node("draining", { isDraining: true }),
    node("gone", { leaseLeftMs: -1 }),
    node("elsewhere", { roots: ["/srv/b", "/srv/aa"] }),
  ];
  shared.left = ["a", "b", "c"].map((id) => session(id));
  const { begun, open, endAll } = openings();
  await using _ = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  await place.advance(THIRD_MS * 1.3);
  expect(begun).toHaveLength(3);
  endAll();
});

test("sessions whose folder is not there or outside of the roots, and those without room, are left to others", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [node("one")];
  const crowded = { ...session("f"), account: "crowded" };
  const odd = { ...session("e"), additionalDirectories: ["/other"] };
  shared.left = [session("a", "/other"), session("b", "/gone"), session("c", "/srv/a"), odd, crowded];
  const { begun, open, endAll } = openings();
  const hasRoom = (account: string) => account !== "crowded";
  await using _ = new Takeover({ world: place, nodes: shared.of(), roots: ["/srv"], hasRoom, open });
  await place.advance(THIRD_MS * 4);
  expect(begun.map(({ id }) => id)).toEqual(["c"]);
  expect(shared.left.map(({ id }) => id)).toEqual(["a", "b", "e", "f"]);
  endAll();
});

test("only so many are opened at once, and the next ones as soon as there is room", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [node("one")];
  const { openedAtOnce } = GATEWAY_LIMITS.nodes;
  shared.left = Array.from({ length: openedAtOnce + 3 }, (_, at) => session(`s${at}`));
  const { begun, open, endAll } = openings();
  await using _ = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  await place.advance(THIRD_MS * 4);
  expect(begun).toHaveLength(openedAtOnce);
  expect(shared.left).toHaveLength(3);
  endAll();
  await place.advance(0);
  expect(begun).toHaveLength(openedAtOnce + 3);
  endAll();
});

test("the end of a lease that is not renewed is not waited out: it is looked at once", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [node("one"), node("two", { leaseLeftMs: 100 })];
  const { begun, open, endAll } = openings();
  await using _ = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  await place.advance(THIRD_MS * 1.3);
  shared.nodes = [node("one"), node("two", { leaseLeftMs: -1 })];
  shared.left = [session("a")];
  await place.advance(120);
  expect(begun).toHaveLength(1);
  endAll();
});

test("a released session is looked for at once; more records of one are no reason to look", async () => {
  const place = world();
  const shared = new Shared();
  const { begun, open, endAll } = openings();
  await using _ = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  shared.left = [session("a")];
  shared.hint({ session: "a", seq: 7 });
  await place.advance(0);
  expect(begun).toEqual([]);
  shared.hint({ session: "a" });
  await place.advance(0);
  expect(begun).toHaveLength(1);
  endAll();
});

test("one that cannot be opened is tried again some times, then left to others, and tried again later; without a lease nothing is taken or tried", async () => {
  const place = world();
  const shared = new Shared();
  const self = new Cell<string | undefined>(undefined);
  shared.left = [session("a")];
  let attempts = 0;
  const open = async () => {
    attempts += 1;
    throw new Error("no room on the disk");
  };
  const nodes = shared.of(self);
  await using _ = new Takeover({ world: place, nodes, roots: [], hasRoom: () => true, open });
  await place.advance(THIRD_MS * 10);
  expect(attempts).toBe(0);
  self.set("one");
  await place.advance(THIRD_MS * 2.5);
  expect(attempts).toBe(3);
  self.set(undefined);
  await place.advance(THIRD_MS * 10);
  expect(attempts).toBe(3);
  self.set("two");
  shared.left = [session("b")];
  await place.advance(THIRD_MS * 20);
  const { openAttempts, givenUpMs } = GATEWAY_LIMITS.nodes;
  expect(attempts).toBe(3 + openAttempts);
  expect(shared.left).toEqual([session("b")]); // another node may be able to
  await place.advance(givenUpMs);
  expect(attempts).toBeGreaterThan(3 + openAttempts);
});

test("what this node owns and does not have open is opened, without being taken once more", async () => {
  const place = world();
  const shared = new Shared();
  const nodes = shared.of();
  const wanted: string[] = [];
  const takeOver: Nodes["takeOver"] = async (some) => {
    wanted.push(...some.map(({ id }) => id));
    return await nodes.takeOver(some);
  };
  shared.nodes = [node("one")];
  const gone = { ...session("gone", "/gone"), isOwn: true };
  shared.left = [{ ...session("own"), isOwn: true }, session("other"), gone];
  const given: LeftSession[] = [];
  const giveBack: Nodes["giveBack"] = async (one) => void given.push(one);
  const { begun, open, endAll } = openings();
  await using _ = new Takeover({
    world: place,
    nodes: { ...nodes, takeOver, giveBack },
    roots: ["/srv"],
    hasRoom: () => true,
    open,
  });
  await place.advance(THIRD_MS * 1.3);
  expect(given[0]).toEqual(gone); // it cannot be opened here
  expect(begun.map(({ id }) => id).toSorted()).toEqual(["other", "own"]);
  expect(wanted).toEqual(["other"]);
  endAll();
});

test("what is being opened when this node begins to drain is given back at once", async () => {
  const place = world();
  const shared = new Shared();
  shared.nodes = [node("one")];
  shared.left = [session("a")];
  const { begun, open, endAll } = openings();
  const takeover = new Takeover({ world: place, nodes: shared.of(), roots: [], hasRoom: () => true, open });
  await place.advance(THIRD_MS * 1.3);
  expect([begun, shared.left]).toEqual([[session("a")], []]);
  const ended = takeover[Symbol.asyncDispose]();
  endAll();
  await ended;
  expect(shared.left).toEqual([session("a")]);
});

test("a look that fails is no end: the next one comes", async () => {
  const place = world();
  const shared = new Shared();
  const nodes = shared.of();
  const { begun, open, endAll } = openings();
  let isAway = true;
  const left: Nodes["left"] = (most) => (isAway ? Promise.reject(new Error("away")) : nodes.left(most));
  await using _ = new Takeover({ world: place, nodes: { ...nodes, left }, roots: [], hasRoom: () => true, open });
  shared.left = [session("a")];
  await place.advance(THIRD_MS * 3);
  isAway = false;
  await place.advance(THIRD_MS * 1.3);
  expect(begun).toHaveLength(1);
  endAll();
});

test("clients are told when the database is away, once, and when it is back", () => {
  const problem = new Cell<string | undefined>(undefined);
  const told: string[] = [];
  const stop = tellWhileAway({ problem }, (level, text) => told.push(`${level}: ${text}`));
  problem.set("nothing listens there");
  problem.set("it did not answer in time");
  expect(told).toEqual([expect.stringMatching(/^warning: .*cannot be reached: nothing listens there\. Turns stop/)]);
  problem.set(undefined);
  expect(told.slice(1)).toEqual(["warning: The database of the gateway can be reached again."]);
  stop();
  problem.set("away once more");
  expect(told).toHaveLength(2);
});
