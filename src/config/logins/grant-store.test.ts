// Log-ins on the disk: kept apart, unreadable to others, changed by one at a time, their key where it was chosen to be.
import { describe, expect, it } from "vitest";
import type { Grant, GrantKey } from "../../mcp/index.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { DiskGrantStore } from "./grant-store.js";
import type { KeyKeeper } from "./vault.js";

const KEY: GrantKey = { issuer: "https://auth.example", resource: "https://mcp.example/mcp", account: "default" };
const GRANT: Grant = {
  accessToken: "access-1",
  refreshToken: "refresh-1",
  expiresAtMs: 1_800_000_000_000,
  scope: "read write",
  client: { clientId: "me", clientSecret: "client-secret", redirectUris: ["http://127.0.0.1:1/callback"] },
  tokenEndpoint: "https://auth.example/token",
  revocationEndpoint: "https://auth.example/revoke",
  resourceIndicator: "https://mcp.example/mcp",
  missingScope: "admin",
};
const DIR = "/state/grants";
const NEVER = new AbortController().signal;

function keyring(
  entries: Map<string, string> = new Map(),
): KeyKeeper & { readonly entries: Map<string, string>; asked: number } {
  return {
    entries,
    asked: 0,
    async get(name) {
      this.asked++;
      return entries.get(name);
    },
    async set(name, value) {
      entries.set(name, value);
    },
  };
}

function storeIn(world: FakeWorld, keeper: KeyKeeper | string = "there is none here"): DiskGrantStore {
  return new DiskGrantStore({ world, dir: DIR, keyring: keeper });
}

async function put(store: DiskGrantStore, grant: Grant | undefined = GRANT, key = KEY): Promise<void> {
  await store.update(key, async () => grant, NEVER);
}

function everything(world: FakeWorld): string {
  return world.files.paths.map((path) => `${path}\n${world.files.text(path)}`).join("\n");
}

describe("the store of grants", () => {
  it("gives back in another process all of what was put in, and nothing after it was taken out", async () => {
    const world = fakeWorld();
    await put(storeIn(world));
    const other = storeIn(world);
    expect(await other.read(KEY)).toEqual(GRANT);
    expect(await other.find(KEY.resource, "default")).toEqual([KEY]);
    await other.update(KEY, async () => undefined, NEVER);
    expect(await storeIn(world).read(KEY)).toBeUndefined();
    expect(await storeIn(world).find(KEY.resource, "default")).toEqual([]);
  });

  it("keeps accounts, resources and issuers apart", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    await put(store);
    await put(store, { ...GRANT, accessToken: "work" }, { ...KEY, account: "work" });
    await put(store, { ...GRANT, accessToken: "moved" }, { ...KEY, issuer: "https://other.example" });
    expect((await store.read(KEY))?.accessToken).toBe("access-1");
    expect((await store.read({ ...KEY, account: "work" }))?.accessToken).toBe("work");
    expect(await store.read({ ...KEY, resource: "https://mcp.example/other" })).toBeUndefined();
    expect(await store.find(KEY.resource, "work")).toEqual([{ ...KEY, account: "work" }]);
    expect(await store.find(KEY.resource, "default")).toHaveLength(2);
  });

  it("shows on the disk neither tokens nor secrets nor whom the person knows, in private files", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    await put(store);
    await store.writeClient(KEY.issuer, GRANT.client);
    const text = everything(world);
    for (const word of ["access-1", "refresh-1", "client-secret", "example", "default"])
      expect(text).not.toContain(word);
    for (const path of world.files.paths) expect((await world.files.find(path))?.mode).toBe(0o600);
  });

  it("takes a grant that was exchanged for another, or changed, for none", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    await put(store);
    const work = { ...KEY, account: "work" };
    await put(store, { ...GRANT, accessToken: "work" }, work);
    const [mine = "", theirs = ""] = world.files.paths.filter((path) => path.endsWith(".grant"));
    world.files.write(mine, world.files.text(theirs) ?? "");
    expect(await store.read(KEY)).toBeUndefined();
    world.files.write(mine, "not even JSON");
    expect(await store.read(KEY)).toBeUndefined();
    expect((await store.read(work))?.accessToken).toBe("work");
  });

  it("says in which order changes happen: of five at once each sees what the one before left", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    await put(store);
    const seen: string[] = [];
    let running = 0;
    const refresh = async (current: Grant | undefined): Promise<Grant | undefined> => {
      expect(++running).toBe(1);
      await world.settle();
      seen.push(current?.accessToken ?? "none");
      running--;
      return current?.accessToken === "access-1" ? { ...GRANT, accessToken: "access-2" } : current;
    };
    const changes = Array.from({ length: 5 }, () => store.update(KEY, refresh, NEVER));
    for (const one of await Promise.all(changes)) expect(one?.accessToken).toBe("access-2");
    expect(seen).toEqual(["access-1", "access-2", "access-2", "access-2", "access-2"]);
  });

  it("lines up with stores of other processes too, however long one of them takes", async () => {
    const world = fakeWorld();
    const [one, other] = [storeIn(world), storeIn(world)];
    await put(one);
    let finish: (grant: Grant) => void = () => {};
    const slow = one.update(KEY, () => new Promise<Grant>((resolve) => (finish = resolve)), NEVER);
    await world.settle();
    const seen: (string | undefined)[] = [];
    const later = other.update(
      KEY,
      async (current) => {
        seen.push(current?.accessToken);
        return current;
      },
      NEVER,
    );
    await world.advance(30_000);
    expect(seen).toEqual([]);
    finish({ ...GRANT, accessToken: "access-2" });
    await slow;
    await world.advance(1_000);
    await later;
    expect(seen).toEqual(["access-2"]);
  });

  it("passes on that a change failed, keeps what was there, and holds nobody up", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    await put(store);
    const failed = store.update(KEY, () => Promise.reject(new Error("no network")), NEVER);
    const next = store.update(KEY, async (current) => current, NEVER);
    await expect(failed).rejects.toThrow("no network");
    expect((await next)?.accessToken).toBe("access-1");
  });

  it("does not begin a change that nobody waits for any more", async () => {
    const store = storeIn(fakeWorld());
    let hasRun = false;
    const change = store.update(
      KEY,
      async () => {
        hasRun = true;
        return GRANT;
      },
      AbortSignal.abort(new Error("gave up")),
    );
    await expect(change).rejects.toThrow("gave up");
    expect(hasRun).toBe(false);
  });

  it("lets go of one who gives up while another changes it, and keeps what that one brings", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    let finish: (grant: Grant) => void = () => {};
    const slow = store.update(KEY, () => new Promise<Grant>((resolve) => (finish = resolve)), NEVER);
    const controller = new AbortController();
    const waiting = store.update(KEY, async () => undefined, controller.signal).catch((error: unknown) => error);
    await world.settle();
    controller.abort(new Error("gave up"));
    expect(await waiting).toMatchObject({ message: "gave up" });
    finish(GRANT);
    await slow;
    expect(await store.update(KEY, async (current) => current, NEVER)).toEqual(GRANT);
  });

  it("tells of a log-in that another process makes, and not of its own locks", async () => {
    const world = fakeWorld();
    const store = storeIn(world);
    let told = 0;
    const watch = store.watch(KEY.resource, KEY.account, () => told++);
    await world.settle();
    await put(storeIn(world), GRANT, { ...KEY, account: "work" });
    await world.settle();
    expect(told).toBe(0);
    await put(storeIn(world));
    await world.settle();
    expect(told).toBe(1);
    await store.update(KEY, async (current) => current, NEVER);
    await world.settle();
    expect(told).toBe(1);
    watch.close();
    expect(world.files.watchCount).toBe(0);
  });

  it("keeps registrations by issuer", async () => {
    const store = storeIn(fakeWorld());
    expect(await store.readClient(KEY.issuer)).toBeUndefined();
    await store.writeClient(KEY.issuer, GRANT.client);
    expect(await store.readClient(KEY.issuer)).toEqual(GRANT.client);
    await store.writeClient(KEY.issuer, undefined);
    expect(await store.readClient(KEY.issuer)).toBeUndefined();
  });
});

describe("where the key is kept", () => {
  it("is the keyring if it works, and no key is on the disk then", async () => {
    const world = fakeWorld();
    const keeper = keyring();
    await put(storeIn(world, keeper));
    expect(await storeIn(world, keeper).status()).toMatchObject({ keeper: "keyring" });
    expect(world.files.paths.some((path) => path.endsWith("vault.key"))).toBe(false);
    const [written = ""] = keeper.entries.values();
    expect(everything(world)).not.toContain(written);
    expect(await storeIn(world, keeper).read(KEY)).toEqual(GRANT);
  });

  it("is asked for once in a process", async () => {
    const world = fakeWorld();
    const keeper = keyring();
    await put(storeIn(world, keeper));
    const store = storeIn(world, keeper);
    const before = keeper.asked;
    for (let round = 0; round < 5; round++) await Promise.all([store.read(KEY), store.find(KEY.resource, "default")]);
    expect(keeper.asked).toBe(before + 1);
  });

  it("is not asked for by people without log-ins, and nothing is written for them", async () => {
    const world = fakeWorld();
    const keeper = keyring();
    expect(await storeIn(world, keeper).find(KEY.resource, "default")).toEqual([]);
    expect(keeper.asked).toBe(0);
    expect(world.files.paths).toEqual([]);
  });

  it.each<[string, KeyKeeper]>([
    ["fails", { get: () => Promise.reject(new Error("no D-Bus")), set: () => Promise.reject(new Error("no D-Bus")) }],
    ["forgets", { get: async () => undefined, set: async () => {} }],
  ])("is a private file where the keyring %s, and that is said", async (_what, keeper) => {
    const world = fakeWorld();
    await put(storeIn(world, keeper));
    const status = await storeIn(world).status();
    expect(status?.keeper).toBe("file");
    expect(status?.reason).toMatch(/no D-Bus|does not give back/u);
    expect((await world.files.find(`${DIR}/vault.key`))?.mode).toBe(0o600);
    expect(await storeIn(world, keyring()).read(KEY)).toEqual(GRANT); // chosen once: it stays so
  });

  it("is a file where the keyring does not answer in time", async () => {
    const world = fakeWorld();
    const never = (_name: string, _second: unknown, signal?: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const storing = put(storeIn(world, { get: async () => undefined, set: never }));
    await world.advance(60_000);
    await storing;
    expect(await storeIn(world).status()).toMatchObject({
      keeper: "file",
      reason: expect.stringContaining("did not answer"),
    });
  });

  it("fails with words when the keyring that has it cannot be used: nobody is silently logged out", async () => {
    const world = fakeWorld();
    const keeper = keyring();
    await put(storeIn(world, keeper));
    await expect(storeIn(world, "it is locked").read(KEY)).rejects.toThrow(/keyring .* cannot be used: it is locked/u);
    const broken: KeyKeeper = { ...keeper, get: () => Promise.reject(new Error("locked")) };
    const store = storeIn(world, broken);
    await expect(store.read(KEY)).rejects.toThrow("locked");
    broken.get = async (name) => keeper.entries.get(name); // unlocked meanwhile
    expect(await store.read(KEY)).toEqual(GRANT);
  });

  it("has a salt that another process is just writing, or says that it is broken", async () => {
    const world = fakeWorld();
    world.files.write(`${DIR}/vault.salt`, "");
    const reading = storeIn(world).read(KEY);
    await world.advance(100);
    world.files.write(`${DIR}/vault.salt`, "abcd\n");
    await world.advance(100);
    expect(await reading).toBeUndefined();
    world.files.write(`${DIR}/vault.salt`, "");
    const broken = storeIn(world)
      .read(KEY)
      .catch((error: unknown) => error);
    await world.advance(2_000);
    expect(await broken).toMatchObject({ code: "config.unreadable", message: expect.stringContaining("vault.salt") });
  });

  it("is made anew when it is gone: what was kept is not readable any more, new log-ins work", async () => {
    const world = fakeWorld();
    const keeper = keyring();
    await put(storeIn(world, keeper));
    keeper.entries.clear();
    const store = storeIn(world, keeper);
    expect(await store.read(KEY)).toBeUndefined();
    await put(store);
    expect(await storeIn(world, keeper).read(KEY)).toEqual(GRANT);
  });
});
