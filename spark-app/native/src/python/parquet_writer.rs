//! `ParquetWriter`, for Python.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_pyarrow::FromPyArrow;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{integers, schema_of};
use crate::{Compression, ParquetOptions, Pieces, SortedBy};

/// Writes one file of Apache Parquet.
///
/// `schema` has its columns; the metadata `PARQUET:field_id` of a field is its id. `compression` is "zstd", with a level,
/// "snappy", "gzip" or "none". A row group ends with the row by which the sizes of its rows reach `row_group_bytes`, a page when its values
/// take about `page_bytes`. `without_dictionary` and `bloom_filters` name columns as Parquet does, with dots; a filter is made
/// for so many different values. `sorted_by` has the columns by which the rows of a call of `write` are sorted, the first
/// first, and for each whether it is descending and whether nulls are first: if there is one, the rows of a call are a row
/// group, and the footer says how they are sorted. Raises ValueError for fields that cannot be written.
///
/// After an error, and after `finish`, every call raises ValueError: what was written is no file, or a whole one.
#[pyclass(frozen, module = "logpersister_native")]
pub struct ParquetWriter(Mutex<Option<crate::ParquetWriter>>);

#[pymethods]
impl ParquetWriter {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    #[pyo3(signature = (
        schema, *, compression, zstd_level, row_group_bytes, page_bytes, page_index, without_dictionary, bloom_filters,
        sorted_by
    ))]
    fn new(
        schema: &Bound<'_, PyAny>,
        compression: &str,
        zstd_level: i32,
        row_group_bytes: usize,
        page_bytes: usize,
        page_index: bool,
        without_dictionary: Vec<String>,
        bloom_filters: HashMap<String, usize>,
        sorted_by: Vec<(String, bool, bool)>,
    ) -> PyResult<Self> {
        let compression = match compression {
            "zstd" => Compression::Zstd(zstd_level),
            "snappy" => Compression::Snappy,
            "gzip" => Compression::Gzip,
            "none" => Compression::None,
            other => return Err(PyValueError::new_err(format!("there is no compression {other}"))),
        };
        let sorted_by =
            sorted_by.into_iter().map(|(column, descending, nulls_first)| SortedBy { column, descending, nulls_first });
        let options = ParquetOptions {
            compression,
            row_group_bytes,
            page_bytes,
            page_index,
            without_dictionary,
            bloom_filters,
            sorted_by: sorted_by.collect(),
        };
        let writer = crate::ParquetWriter::new(schema_of(schema)?, &options).map_err(PyValueError::new_err)?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Take in the rows of a record batch, with an int64 array of their sizes; return the bytes of the file that are ready,
    /// mostly none.
    ///
    /// Raises ValueError for other columns than those of the schema, for nulls where it has none, and for values of which
    /// a page cannot be made; RuntimeError for a mistake of the writer itself.
    fn write<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        sizes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (rows, sizes) = (RecordBatch::from_pyarrow_bound(rows)?, integers(sizes)?);
        let pieces = py.detach(|| {
            self.with_writer(|mut writer| {
                let pieces = writer.write(&rows, sizes.values())?;
                Ok((pieces, Some(writer)))
            })
        });
        joined(py, pieces?)
    }

    /// Return the rest of the file, which ends with the footer.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let pieces = py.detach(|| self.with_writer(|mut writer| Ok((writer.finish()?, None))));
        joined(py, pieces?)
    }
}

impl ParquetWriter {
    /// Lends the writer to `call`, which gives it back if it can go on.
    fn with_writer(
        &self,
        call: impl FnOnce(crate::ParquetWriter) -> Result<(Pieces, Option<crate::ParquetWriter>), String>,
    ) -> PyResult<Pieces> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = kept.take().ok_or_else(|| PyValueError::new_err("the file is finished, or failed before"))?;
        // Python must not meet a panic: it would pass by all that handles exceptions, and end the worker.
        let (pieces, writer) = catch_unwind(AssertUnwindSafe(|| call(writer)))
            .map_err(|panic| PyRuntimeError::new_err(format!("the Parquet writer failed: {}", said(&*panic))))?
            .map_err(PyValueError::new_err)?;
        *kept = writer;
        Ok(pieces)
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

fn joined(py: Python<'_>, pieces: Pieces) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, pieces.iter().map(Vec::len).sum(), |mut bytes| {
        for piece in pieces {
            let (begin, rest) = bytes.split_at_mut(piece.len());
            begin.copy_from_slice(&piece);
            bytes = rest;
        }
        Ok(())
    })
}
