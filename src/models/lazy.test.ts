// A model that is loaded by its first request.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import { lazyModel } from "./providers/providers.js";

const request: ModelRequest = { system: "", messages: [], tools: [] };
const finish: ModelEvent = { kind: "finish", reason: "stop" };
const model: Model = {
  id: "p/m",
  async *stream() {
    yield finish;
  },
};

async function ask(asked: Model, signal: AbortSignal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of asked.stream(request, signal)) events.push(event);
  return events;
}

describe("a lazy model", () => {
  test("has its name at once, loads once for all requests, and not before the first", async () => {
    let loads = 0;
    const lazy = lazyModel("p/m", async () => {
      loads++;
      return model;
    });
    expect(lazy.id).toBe("p/m");
    expect(loads).toBe(0);
    expect(await Promise.all([ask(lazy), ask(lazy)])).toEqual([[finish], [finish]]);
    await ask(lazy);
    expect(loads).toBe(1);
  });

  test("has the abilities and the dialect of its name before it is loaded, and its own afterwards", async () => {
    const own = { contextTokens: 7, images: true, audio: false, pdf: false, thinking: [] } as const;
    const lazy = lazyModel("openai-chat/gpt-5", async () => ({ ...model, abilities: own }), { toolSearch: "openai" });
    expect(lazy.dialect).toBe("openai-chat");
    expect(lazy.abilities).toMatchObject({ contextTokens: 400_000, toolSearch: "openai" });
    await ask(lazy);
    expect(lazy.abilities).toEqual(own);
    expect(lazyModel("p/m", async () => model).abilities).toBeUndefined();
    expect(lazyModel("offline/operator", async () => model)).not.toHaveProperty("dialect");
  });

  test("fails every request that waited, and loads again for the next", async () => {
    let loads = 0;
    const lazy = lazyModel("p/m", async () => {
      if (loads++ === 0) throw new TenonError("model.unauthorized", "no key");
      return model;
    });
    const waiting = await Promise.allSettled([ask(lazy), ask(lazy)]);
    expect(waiting.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(
      Promise.reject(waiting[0]?.status === "rejected" ? waiting[0].reason : undefined),
    ).rejects.toMatchObject({
      code: "model.unauthorized",
    });
    expect(await ask(lazy)).toEqual([finish]);
    expect(loads).toBe(2);
  });

  test("fails with a code of ours even when loading fails for a foreign reason, at once or later", async () => {
    const throwing = lazyModel("p/m", () => {
      throw new Error("no such package");
    });
    await expect(ask(throwing)).rejects.toMatchObject({ code: "model.unavailable", message: "no such package" });
  });

  test("leaves a load that hangs when the signal aborts", async () => {
    const reason = new Error("enough");
    const controller = new AbortController();
    const answer = ask(
      lazyModel("p/m", () => new Promise(() => {})),
      controller.signal,
    );
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
  });
});
