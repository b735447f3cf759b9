// Whose keys the agent under test gets: nobody's.
import { expect, test } from "vitest";
import { agentEnvironment, SECRETS } from "./environment.js";

const model = { url: "http://127.0.0.1:9/v1", origin: "http://127.0.0.1:9" };
const own = {
  PATH: "/bin",
  LANG: "C",
  HOME: "/home/me",
  ANTHROPIC_API_KEY: "real",
  GH_TOKEN: "real",
  OPENAI_BASE_URL: "https://real",
  TENON_MODEL: "anthropic/real",
  UNSET: undefined,
};

test("real keys and addresses stay out; the model that is brought along is in", () => {
  const env = agentEnvironment({ own, model, extra: [], home: "/h" });
  expect(Object.values(env).filter((value) => value.includes("real"))).toEqual([]);
  expect(env).toMatchObject({ LANG: "C", HOME: "/h", OPENAI_BASE_URL: model.url, ANTHROPIC_BASE_URL: model.origin });
  expect(env).toMatchObject({ TENON_MODEL: "openai-compatible/check", ...SECRETS });
  expect(env["PATH"]?.endsWith(":/bin")).toBe(true);
});

test("what the person gives wins, with the model's address filled in; a home can be kept", () => {
  const extra = [
    ["ANTHROPIC_API_KEY", "mine"],
    ["CONFIG", '{"base":"{url}","root":"{origin}","name":"{model}"}'],
  ] as const;
  const env = agentEnvironment({ own, model, extra, home: undefined });
  expect(env).toMatchObject({ HOME: "/home/me", ANTHROPIC_API_KEY: "mine" });
  expect(env["CONFIG"]).toBe(`{"base":"${model.url}","root":"${model.origin}","name":"check"}`);
});
