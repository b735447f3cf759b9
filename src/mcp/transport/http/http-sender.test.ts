// Messages of ours that nobody answers: so many at once, so many in line, and each is told of once.
import { createServer, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { bench, closeListener, listenOnLoopback } from "../../../../test/remote/bench.js";
import { KnownSecrets } from "../../../base/text/secrets.js";
import { nodeWorld } from "../../../world/index.js";
import { MCP_LIMITS } from "../../limits.js";
import { Dialler } from "./dial.js";
import { type Delivery, HttpSender } from "./http-sender.js";

const { own } = bench();
const { atOnce, waiting } = MCP_LIMITS.httpNotices;

test("a server that takes no answer of ours is not dialled without end, and gets what is in line once it does", async () => {
  const open: ServerResponse[] = [];
  let isFull = () => {};
  const full = new Promise<void>((resolve) => {
    isFull = resolve;
  });
  let takesAnswers = false;
  const server = createServer((request, response) => {
    request.resume();
    if (takesAnswers) response.writeHead(202).end();
    else open.push(response);
    if (open.length === atOnce) isFull();
  });
  const url = await listenOnLoopback(server);
  const dialler = new Dialler(nodeWorld({ env: {} }));
  own({
    [Symbol.asyncDispose]: async () => {
      dialler.close();
      await closeListener(server);
    },
  });
  const sender = new HttpSender({
    world: nodeWorld({ env: {} }),
    dialler,
    place: dialler.check(url, "typed"),
    user: { headers: {}, ignored: [], hasAuthorization: false, isConfidential: false },
    secrets: new KnownSecrets(),
    folder: () => "",
  });
  const total = atOnce + waiting + 5;
  const told: Delivery[] = [];
  const all = new Promise<void>((resolve) => {
    for (let id = 0; id < total; id++) {
      sender.deliver({ jsonrpc: "2.0", id, result: {} }, (delivery) => {
        told.push(delivery);
        if (told.length === total) resolve();
      });
    }
  });
  await full;
  expect(open).toHaveLength(atOnce);
  expect(told.map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => "loss"));
  takesAnswers = true;
  for (const response of open) response.writeHead(202).end();
  await all;
  expect(told.filter(({ kind }) => kind === "delivered")).toHaveLength(atOnce + waiting);
  sender.stop();
});
