// memjs (binary protocol) against a server; see clients_test.py for the
// contract. memjs has no cas.
'use strict';
const memjs = require('memjs');
const readline = require('readline');

// The same bytes in every client: no period of a power of two.
function valueOf(size, version) {
  const value = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i++) value[i] = (i + version) % 251;
  return value;
}

function need(condition, ...what) {
  if (condition) return;
  console.error('wrong:', ...what);
  process.exit(1);
}

async function has(client, key, value) {
  const got = await client.get(key);
  need(got.value && got.value.equals(value), 'value of', key,
       got.value && got.value.length);
}

async function check(client, prefix, size, version) {
  const key = prefix + size;
  const [first, second, third] =
      [0, 1, 2].map((more) => valueOf(size, version + more));
  need(await client.set(key, first, {}), 'set', key);
  await has(client, key, first);
  need(await client.replace(key, second, {}), 'replace', key);
  need(!await client.add(key, third, {}), 'add', key);
  need(await client.touch(key, 1000), 'touch', key);
  await has(client, key, second);
  const gone = `${prefix}gone${size}`;
  need(await client.set(gone, third, {}), 'set', gone);
  need(await client.delete(gone), 'delete', gone);
  need((await client.get(gone)).value === null, 'get of a deleted key', gone);
  need(!await client.delete(gone), 'second delete', gone);
  return second;
}

async function main() {
  const [address, prefix, ...sizes] = process.argv.slice(2);
  const client = memjs.Client.create(address, {timeout: 60, retries: 0});
  console.log('memjs', require('memjs/package.json').version);
  let version = 0;
  for await (const _ of readline.createInterface({input: process.stdin})) {
    const wanted = [];
    for (const size of sizes) {
      wanted.push([prefix + size,
                   await check(client, prefix, Number(size), version)]);
    }
    const got = await Promise.all(wanted.map(([key]) => client.get(key)));
    wanted.forEach(([key, value], i) =>
      need(got[i].value.equals(value), 'gets side by side', key));
    const number = prefix + 'n';
    need(await client.set(number, '40', {}), 'set', number);
    need((await client.increment(number, 2, {})).value === 42, 'incr');
    need((await client.decrement(number, 1, {})).value === 41, 'decr');
    version += 1;
    console.log('round');
  }
  client.quit();
}

main().catch((error) => need(false, error));
