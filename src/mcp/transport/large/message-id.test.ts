// Whose answer an unreadable message was: found at either end, and never guessed from what lies inside.
import { describe, expect, test } from "vitest";
import { answeredId } from "./message-lines.js";

const id = (head: string, tail: string) => answeredId({ head, tail });

describe("the id of an answer", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":7,"result":{"a":"', '"}}', 7],
    ['{"id":0,"jsonrpc":"2.0","result":{"a":"', '"}}', 0],
    [' { "jsonrpc" : "2.0" , "id" : "x-1" , "error":{"m":"', '"}}', "x-1"],
    ['{"result":{"a":"', '"},"jsonrpc":"2.0","id":12}', 12],
    ['{"result":{"a":"', '"},"id":"z","jsonrpc":"2.0"}\r', "z"],
    ['{"jsonrpc":"2.0","result":{"a":"', '"} , "id" : -3 }', -3],
  ])("is found: %s … %s", (head, tail, expected) => {
    expect(id(head, tail)).toBe(expected);
  });

  test.each([
    ['{"result":{"a":[', '{"id":5}]},"jsonrpc":"2.0"}'],
    ['{"result":{"a":"', '\\"id\\":5}"}}'],
    ['{"result":{"b":1,"a":{"id":5', "}}}"],
    ['{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"', '"},"id":5}'],
    ['{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"a":"', '"}}'],
    ["garbage without end", "garbage"],
  ])("is not made up: %s … %s", (head, tail) => {
    expect(id(head, tail)).toBeUndefined();
  });
});
