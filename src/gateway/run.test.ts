// A whole gateway on a fake machine: what it says to whoever decides where new work goes.
import { request } from "node:http";
import { expect, test } from "vitest";
import { SessionHost } from "../session/index.js";
import { type FakeWorld, fakeWorld } from "../testing/index.js";
import { pageAddress, RunningGateway } from "./run.js";

async function readiness(world: FakeWorld): Promise<string> {
  return await new Promise((resolve, reject) => {
    const createConnection = () => world.servers.connect("127.0.0.1:7000");
    const headers = { host: "127.0.0.1:7000" };
    request({ path: "/readyz", headers, createConnection }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += String(chunk)));
      response.once("end", () => resolve(`${response.statusCode} ${body.trim()}`));
    })
      .once("error", reject)
      .end();
  });
}

test("it is ready while its state folder can be read and written, and until it is to end", async () => {
  const world = fakeWorld();
  const { files } = world;
  const gateway = await RunningGateway.start({
    ...{ world, stateDir: "/state", host: "here", onStop: () => {} },
    listen: [{ kind: "tcp", host: "127.0.0.1", port: 7_000 }],
    openRuntime: async ({ stateDir }) => {
      const model = { id: "test/none", stream: async function* () {} };
      return new SessionHost({ world, model, stateDir, client: { name: "tenon", version: "1" }, builtin: [] });
    },
  });
  expect(await readiness(world)).toBe("200 ready");
  const secret = await files.readText("/state/gateway/client-secret");
  await files.remove("/state/gateway/client-secret");
  expect(await readiness(world)).toBe("503 the state folder cannot be read");
  await files.writeAtomic("/state/gateway/client-secret", secret);
  expect(await readiness(world)).toBe("200 ready");
  files.isFull = true;
  request({
    path: "/acp",
    headers: { host: "127.0.0.1:7000" },
    createConnection: () => world.servers.connect("127.0.0.1:7000"),
  }).end(); // refused without a token, and the audit file cannot take it
  await world.settle();
  expect(await readiness(world)).toBe("503 the state folder cannot be written");
  files.isFull = false;
  expect(await readiness(world)).toBe("200 ready");
  const draining = gateway.drain(0);
  expect(await readiness(world)).toBe("503 draining");
  await draining;
  await gateway[Symbol.asyncDispose]();
  await world.settle();
  expect(world.clock.pendingTimers).toBe(0);
  expect(world.servers.addresses).toEqual([]);
});

const PLACES = {
  near: { kind: "tcp", host: "127.0.0.1", port: 1, isTls: false },
  six: { kind: "tcp", host: "::1", port: 2, isTls: false },
  any: { kind: "tcp", host: "0.0.0.0", port: 3, isTls: false },
  safe: { kind: "tcp", host: "192.168.1.5", port: 4, isTls: true },
} as const;
const OWN = { hosts: [], own: ["10.0.0.7", "fd00::7"] };

test.each([
  ["here", [PLACES.near], OWN, "http://127.0.0.1:1/", true],
  ["here", [PLACES.safe, PLACES.near], OWN, "http://127.0.0.1:1/", true],
  ["here", [PLACES.six], OWN, "http://[::1]:2/", true],
  ["here", [PLACES.any], OWN, "http://127.0.0.1:3/", true],
  ["here", [PLACES.safe], OWN, "https://192.168.1.5:4/", false],
  ["here", [PLACES.safe], { ...OWN, hosts: ["box.example"] }, "https://box.example:4/", false],
  ["elsewhere", [PLACES.near], OWN, "http://127.0.0.1:1/", true],
  ["elsewhere", [PLACES.near, PLACES.safe], OWN, "https://192.168.1.5:4/", false],
  ["elsewhere", [PLACES.any], OWN, "http://10.0.0.7:3/", false],
  ["elsewhere", [PLACES.any], { hosts: [], own: ["fd00::7"] }, "http://[fd00::7]:3/", false],
  ["elsewhere", [PLACES.any], { hosts: [], own: [] }, "http://127.0.0.1:3/", true],
  ["elsewhere", [PLACES.any], { ...OWN, hosts: ["box.example:443"] }, "http://box.example:443/", false],
] as const)("a browser from %s reaches the page, %#", (from, places, about, url, isNear) => {
  expect(pageAddress(places, from, about)).toEqual({ url, isNear });
});
