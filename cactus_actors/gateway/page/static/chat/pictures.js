/** Pictures of a message: chosen, dropped or pasted, and made small enough for a request. */

const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/bmp'];
const MAX_BYTES = 700_000;
const MAX_SIDE = 1600;

/** The picture files among those that were dropped or pasted. */
export const picturesIn = (transfer) => [...(transfer?.files ?? [])].filter((file) => file.type.startsWith('image/'));

/** A picture as a data URL; raises Error for a file that is none. */
export async function pictureUrl(file) {
  if (!TYPES.includes(file.type))
    throw new Error(`${file.name || 'This'} is not a picture in PNG, JPEG, WebP, GIF or BMP.`);
  if (file.size <= MAX_BYTES) return dataUrl(file);
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name || 'This picture'} cannot be read.`);
  }
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext('2d');
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/jpeg', 0.88);
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Error('The file cannot be read.'));
    reader.readAsDataURL(file);
  });
}
