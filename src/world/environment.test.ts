// The home is the one that was set, else the one the system knows, and never a place relative to where one stands.
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { machineEnv } from "./node.js";

test("one that was set stays", () => {
  const given = { HOME: "/home/set", A: "b" };
  expect(machineEnv(given, () => "/home/known")).toEqual(given);
});

test.each([{ A: "b" }, { HOME: "", A: "b" }, { HOME: "here", A: "b" }, { HOME: undefined, A: "b" }])(
  "else the system is asked: %j",
  (given) => {
    expect(machineEnv(given, () => "/home/known")).toEqual({ HOME: "/home/known", A: "b" });
    expect(machineEnv(given, () => undefined)).toEqual({ A: "b" });
  },
);

test("the system is the user database, whatever the variable says", () => {
  expect(machineEnv({ HOME: "relative" })["HOME"]).toBe(userInfo().homedir);
});
