// Mentions: found in prompts, read from their servers and from the session's files, bounded, and told when they fail.
import { describe, expect, test } from "vitest";
import { type Answer, type Ask, FakeLink } from "../../../test/fake-link.js";
import { LIMITS } from "../../base/limits.js";
import { type ContentBlock, text } from "../../base/text/content.js";
import { fakeWorld, settle } from "../../testing/index.js";
import { watchEventLoop } from "../../testing/lab/index.js";
import { SESSION_LIMITS } from "../limits.js";
import { attachMentions, mentionsIn, type ResourceServer } from "./expansion.js";

const signal = new AbortController().signal;

function link(uri: string): ContentBlock {
  return { type: "resource_link", uri, name: uri };
}

describe("what is mentioned", () => {
  test("in words, by a server's name; punctuation after it is not part of it", () => {
    const words = "See @db:table://a, and (@db:table://b). Not @bob:x nor me@db:c, nor @db: d.";
    expect(mentionsIn([text(words)], (name) => name === "db")).toEqual([
      { server: "db", uri: "table://a" },
      { server: "db", uri: "table://b" },
    ]);
  });

  test("in one that never ends its punctuation, without holding the event loop", async () => {
    const words = `@db:${".".repeat(60_000)}a`;
    const { value, longestMs } = await watchEventLoop(async () => mentionsIn([text(words)], () => true));
    expect(value).toEqual([{ server: "db", uri: words.slice(4) }]);
    expect(longestMs).toBeLessThan(50);
  });

  test("each once, bounded, and not what is there already", () => {
    const many = Array.from({ length: 50 }, (_, index) => link(`x://${index}`));
    const content: ContentBlock[] = [link("x://0"), { type: "resource", uri: "x://1", text: "here" }, ...many];
    const found = mentionsIn(content, () => false);
    expect(found).toHaveLength(SESSION_LIMITS.mentions.max);
    expect(found.map(({ uri }) => uri)).not.toContain("x://1");
  });
});

function stage(answer: (ask: Ask) => Answer) {
  const world = fakeWorld();
  const fake = new FakeLink(world, { answer });
  const server: ResourceServer = { spec: { kind: "stdio", name: "db", command: "x", args: [], env: {} }, link: fake };
  const failures: string[] = [];
  const attach = (content: readonly ContentBlock[], servers: readonly ResourceServer[] = [server]) =>
    attachMentions(
      content,
      {
        world,
        servers,
        readText: async (path) =>
          path.startsWith("/project/")
            ? path.endsWith("gone")
              ? { kind: "failed", reason: "there is no such file" }
              : { kind: "text", text: `text of ${path}` }
            : { kind: "elsewhere" },
        onServerRead: () => {},
        onFailure: (words) => failures.push(words),
      },
      signal,
    );
  return { world, fake, attach, failures };
}

const reads = ({ method, params }: Ask): Answer => {
  switch (method) {
    case "resources/list":
      return { result: { resources: [{ uri: "table://a", name: "a" }] } };
    case "resources/templates/list":
      return {
        result: {
          resourceTemplates: [
            { uriTemplate: "row://{id}", name: "row" },
            { uriTemplate: "{+any}", name: "any" },
          ],
        },
      };
    case "resources/read":
      return params["uri"] === "table://broken"
        ? { error: { code: -32002, message: "not found" } }
        : { result: { contents: [{ uri: String(params["uri"]), text: `rows\u202e of ${String(params["uri"])}` }] } };
    default:
      return undefined;
  }
};

describe("attaching", () => {
  test("a link of a server is read from the one that lists it or has a template for it; others stay links", async () => {
    const { attach, fake, failures } = stage(reads);
    const content = [text("look"), link("table://a"), link("row:7"), link("https://example.org")];
    const attached = await attach(content);
    expect(attached.slice(0, 4)).toEqual(content);
    expect(attached.slice(4)).toMatchObject([
      { type: "text", text: expect.stringContaining('[tenon: the resource "table://a" of the server "db"') },
      { type: "resource", uri: "table://a", text: "rows\\u{202E} of table://a" },
    ]);
    await attach([link("row://7")]);
    expect(fake.asked.filter(({ method }) => method === "resources/read").map(({ params }) => params["uri"])).toEqual([
      "table://a",
      "row://7",
    ]);
    expect(fake.asked.filter(({ method }) => method === "resources/list")).toHaveLength(1);
    fake.announce("notifications/resources/list_changed");
    await attach([link("table://a")]);
    expect(fake.asked.filter(({ method }) => method === "resources/list")).toHaveLength(2);
    expect(failures).toEqual([]);
  });

  test("what was named and cannot be read costs itself only, and is told", async () => {
    const { attach, failures } = stage(reads);
    const attached = await attach([text("@db:table://broken and @db:table://a")]);
    expect(attached).toHaveLength(3);
    expect(failures).toEqual([
      expect.stringMatching(/^table:\/\/broken was mentioned and is not attached: .*not found/u),
    ]);
    const away: ResourceServer = {
      spec: { kind: "stdio", name: "db", command: "x", args: [], env: {} },
      link: undefined,
    };
    expect(await attach([text("@db:table://a")], [away])).toHaveLength(1);
    expect(failures[1]).toContain('the server "db" is not connected');
  });

  test("files of the session's directories are read by its own rules; one elsewhere stays a link", async () => {
    const { attach, failures } = stage(() => ({ error: { code: -32601, message: "no" } }));
    const content = [link("file:///project/a%20b.ts"), link("file:///etc/passwd"), link("file:///project/gone")];
    const attached = await attach(content);
    expect(attached.slice(3)).toEqual([
      { type: "resource", uri: "file:///project/a%20b.ts", text: "text of /project/a b.ts" },
    ]);
    expect(failures).toEqual([expect.stringContaining("there is no such file")]);
  });

  test("long text is cut, and a large medium is only named", async () => {
    const blob = "A".repeat(LIMITS.resultMaxImageBytes * 2);
    const { attach } = stage(({ method, params }) =>
      method === "resources/read"
        ? {
            result: {
              contents: [
                { uri: String(params["uri"]), text: "x".repeat(SESSION_LIMITS.mentions.maxChars + 5) },
                { uri: "b", blob },
              ],
            },
          }
        : undefined,
    );
    const [, , long, note, large] = await attach([text("@db:x://long")]);
    expect(long).toMatchObject({ type: "resource", text: "x".repeat(SESSION_LIMITS.mentions.maxChars) });
    expect(JSON.stringify(note)).toContain("cut here, there are 5 more characters");
    expect(JSON.stringify(large)).toContain("too large");
  });

  test("a server that does not answer holds the prompt up for a while only", async () => {
    const { attach, world, failures } = stage(() => undefined);
    const attaching = attach([text("@db:x://slow")]);
    await settle();
    await world.advance(SESSION_LIMITS.mentions.timeoutMs);
    expect(await attaching).toHaveLength(1);
    expect(failures[0]).toContain("not read within 10 s");
  });
});
