// memjs with an ersproxy: node with_memjs.js [HOST:PORT]
'use strict';
const memjs = require('memjs');

const address = process.argv[2] || '127.0.0.1:11311';
const client = memjs.Client.create(address, {
  timeout: 10,      // seconds; 0.5 by default
  conntimeout: 2,
  retries: 1,       // of what was cut off: a counter may count twice
  failover: false,  // there is one address
});

async function main() {
  await client.set('photo', Buffer.alloc(3000000, 'x'), {expires: 3600});
  const {value} = await client.get('photo');
  console.log(value.length, 'bytes');
  client.quit();
}

main();
