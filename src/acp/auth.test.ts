// Logging in: harmless where a model can answer, plain words where none can.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { Authentication, authMethods, introduction } from "./capabilities.js";

const NO_KEY = new TenonError("model.unauthorized", "openai/gpt needs a key: OPENAI_API_KEY is not set.");

function authentication(modelProblem?: TenonError): Authentication {
  return new Authentication({ modelProblem });
}

describe("the methods", () => {
  test("there is always one that needs nothing of the client; a terminal only where it has one", () => {
    expect(authMethods(undefined)).toMatchObject([{ id: "environment" }]);
    expect(authMethods({ auth: { terminal: false } })).toHaveLength(1);
    expect(authMethods({ auth: { terminal: true } })).toMatchObject([
      { id: "environment" },
      { type: "terminal", id: "setup", args: ["--setup"] },
    ]);
    const params = { clientCapabilities: { auth: { terminal: true } } };
    expect(introduction(params).authMethods).toHaveLength(2);
    expect(introduction("nonsense").authMethods).toHaveLength(1);
  });
});

describe("authenticate", () => {
  test("does nothing where the model can be used", () => {
    expect(() => authentication().authenticate("environment")).not.toThrow();
  });

  test("says which variables would help where it cannot", () => {
    const auth = authentication(NO_KEY);
    expect(() => auth.authenticate("environment")).toThrow(/OPENAI_API_KEY is not set.*ANTHROPIC_API_KEY/u);
    try {
      auth.authenticate("environment");
    } catch (error) {
      expect(error).toMatchObject({ code: "model.unauthorized" });
      expect(error).toBeInstanceOf(TenonError);
    }
  });

  test("knows its own methods only; the terminal's is not for here", () => {
    const auth = authentication();
    expect(() => auth.authenticate("oauth")).toThrow(/no log-in "oauth"/u);
    expect(() => auth.authenticate("setup")).toThrow(/no log-in "setup"/u);
  });
});

test("after a logout no key is used until somebody logs in again", () => {
  const auth = authentication();
  expect(() => auth.check()).not.toThrow();
  auth.logout();
  expect(() => auth.check()).toThrow(/logged out/u);
  auth.authenticate("environment");
  expect(() => auth.check()).not.toThrow();
});
